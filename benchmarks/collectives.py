"""Gain of tuned collectives in IMB: mpiric online, replayed, exported, and Intel's Autotuner.

Each round runs each collective each way once, in random order, on 2 ranks in shared memory or on 4 hosts × 2
ranks of the virtual cluster (tests/lab). *Untuned* is the library's default, with settings for more ranks
than cores; *idle* is the same with the inactive runtime preloaded and must not differ. *Online* is a whole
run in which a policy is learned. mpiric learns only the measured collective, so that the barrier before each
of IMB's calls stays the same. IMB-MPI1 comes with Intel MPI and also runs under MPICH; --imb-openmpi names a
build for Open MPI.
"""

import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import geometric_mean, median
from typing import Any

from benchmarks._imb import lower_bound, parse_imb
from benchmarks._places import Place, place
from benchmarks._programs import Bed, beds
from benchmarks._report import RESULTS, Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import parse_duration
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.tuning.policy_files import read_learned
from mpiric.tuning.policy_merge import condense
from mpiric.workflows.policies import export_policy, lay_out, of_library, tuner_for

_GOALS = ("Allreduce", "Bcast", "Scatter", "Allgather", "Alltoall", "Reduce_scatter")
_WAYS = ("idle", "online", "replayed", "exported", "Autotuner online", "Autotuner replayed")
_PINGPONG = ("-msglog", "0:17", "-iter", "50", "-time", "5")
_PATIENCE_S, _LEARNING_PATIENCE_S = 2, 6  # IMB's time limit per size; slow calls are repeated less often
_CALLS = {"shared": 1000, "fast": 200, "slow": 30}  # calls of IMB per size
_LEARNING_CALLS = {"shared": 20_000, "fast": 4000, "slow": 250}
_MOST_VOLUME_MB = 2000  # limit of IMB, which counts bytes in an int
_ODD = (12, 1000, 3000, 24_000, 100_000)  # sizes that are not powers of two
_AS_GOOD = 0.97  # untuned ÷ way; a lower ratio counts as slower than untuned
COLUMNS = {
    "where": "where",
    "mpi": "MPI",
    "collective": "collective",
    "way": "way",
    "gain": "untuned ÷ way",
    "sizes": "sizes",
    "worst": "worst",
    "worst_bytes": "at, B",
    "below": f"below {_AS_GOOD}",
    "odd": "odd sizes",
    "paired": "in turns",
    "bound": "way ÷ bound",
    "rounds": "rounds",
}

Times = dict[int, float]  # bytes of the message → seconds of the slowest rank


@dataclass(frozen=True)
class Bench:
    """IMB under one library in one place; its directory keeps the times and the learned policies."""

    bed: Bed
    place: Place
    program: str
    directory: Path
    arguments: Namespace

    def times(self, collective: str, variables: Mapping[str, str]) -> Times:
        """Run once with learned or default settings and return the times."""
        calls = self.arguments.calls or _CALLS[self.place.name]
        return self._times(collective, variables, calls, _PATIENCE_S)

    def _times(self, collective: str, variables: Mapping[str, str], calls: int, patience_s: int) -> Times:
        """Run IMB with a limit of calls per size, and the same number of warm-up calls."""
        environment = {**self.bed.environment, **self.place.environment(self.bed), **variables}
        options = self._options(calls, patience_s)
        command = [*self.place.line(self.bed, variables), self.program, *options, collective]
        times = parse_imb(self.place.execute(command, environment))
        return {size: seconds for (name, size), seconds in times.items() if name == collective and size}

    def _options(self, calls: int, patience_s: int) -> list[str]:
        lengths = self.directory / "lengths"
        most_bytes = self.place.most_bytes
        powers = [2**power for power in range(2, 23) if 2**power <= most_bytes]
        if self.arguments.quick:
            powers = powers[::4]
        sizes = sorted({*powers, *(size for size in _ODD if size <= most_bytes)})
        lengths.write_text("".join(f"{size}\n" for size in sizes))
        volume = min(_MOST_VOLUME_MB, calls * most_bytes // 10**6 + 1)
        options = ["-npmin", str(self.place.ranks), "-msglen", str(lengths), "-time", str(patience_s)]
        return [*options, "-iter", f"{calls},{volume}", "-root_shift", "on"]

    def ways(self, collective: str, keep: Callable[[str, Times], None]) -> dict[str, dict[str, str]]:
        """Everything that is run in turns, each with its variables.

        Learns first what has to be learned, and gives the times of that to ``keep``.
        """
        ways: dict[str, dict[str, str]] = {"untuned": {}}
        selected = self.arguments.way or _WAYS
        tuner = tuner_for(self.bed.mpi)
        preload = {"LD_PRELOAD": tuner.library}
        if tuner.library and "idle" in selected:
            ways["idle"] = {**preload, "MPIRIC_COLLECTIVES": "policy"}
        if tuner.library and {"online", "replayed"} & {*selected}:
            learned = self.directory / f"{collective}.policy.json"
            # Whoever runs a benchmark for tuning wants it over soonest, as Intel's Autotuner does.
            online = {"MPIRIC_COLLECTIVES": "online", "MPIRIC_LEARN_AT_MOST": "0"}
            learning = {"MPIRIC_LEARN_ONLY": collective.lower(), "MPIRIC_POLICY_OUT": str(learned)}
            if times := self._learn(collective, learned, {**preload, **online, **learning}):
                keep("online", times)
            if "replayed" in selected:
                policy = lay_out(condense(read_learned(learned)), self.directory)
                ways["replayed"] = {**preload, "MPIRIC_COLLECTIVES": "policy", "MPIRIC_POLICY": policy}
        if "exported" in selected:
            ways["exported"] = _swept(self, collective)
        intel = self.bed.mpi.implementation == "intelmpi"
        if intel and {"Autotuner online", "Autotuner replayed"} & {*selected}:
            dump = self.directory / f"{collective}.autotuner.dat"
            auto = {"I_MPI_TUNING_MODE": "auto", "I_MPI_TUNING_BIN_DUMP": str(dump)}
            if times := self._peer_learns(collective, dump, auto):
                keep("Autotuner online", times)
            if "Autotuner replayed" in selected and dump.is_file():
                ways["Autotuner replayed"] = {"I_MPI_TUNING_BIN": str(dump)}
        return ways

    def _peer_learns(
        self, collective: str, dump: Path, variables: Mapping[str, str], tries: int = 3
    ) -> Times:
        """Intel's Autotuner ends some runs with an error of its own: it may try again."""
        try:
            return self._learn(collective, dump, variables)
        except ProgramFailedError as error:
            tell(f"  {collective}: the Autotuner failed: {error.message}")
            return self._peer_learns(collective, dump, variables, tries - 1) if tries > 1 else {}

    def _learn(self, collective: str, into: Path, variables: Mapping[str, str]) -> Times:
        """Times while learning; none when it was learned before."""
        if self.arguments.resume and into.is_file():
            return {}
        tell(f"  {collective}: learning {into.name}")
        calls = self.arguments.learning_calls or _LEARNING_CALLS[self.place.name]
        return self._times(collective, variables, calls, _LEARNING_PATIENCE_S)


def main() -> int:
    """Measure the selected libraries and places."""
    parser = options("collectives", (__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--where", action="append", choices=("shared", "slow", "fast"), help="measure only these places"
    )
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--collective", action="append", help=f"default: {', '.join(_GOALS)}")
    parser.add_argument("--way", action="append", choices=_WAYS, help="measure only these ways")
    parser.add_argument("--imb-openmpi", help="IMB-MPI1 built for Open MPI")
    parser.add_argument("--rounds", type=int, help="rounds of all ways (default 5, quick 2)")
    parser.add_argument("--calls", type=int, help="of IMB, for one size; default 1000, 200, 30")
    parser.add_argument("--learning-calls", type=int, help="while learning; default 20000, 4000, 250")
    parser.add_argument("--seconds", type=float, default=0.05, help="of the sweep, for one point")
    parser.add_argument("--most-bytes", type=int, help="largest message; default 4 MiB, 256 KiB, 16 KiB")
    parser.add_argument("--time-limit", default="12h", help="stop after this and report what there is")
    parser.add_argument("--resume", action="store_true", help="keep what was measured and learned before")
    return run("collectives", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Run all ways alternately, for each library in each place."""
    arguments.collective = arguments.collective or list(_GOALS)
    arguments.until = time.monotonic() + parse_duration(arguments.time_limit)
    rows: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for somewhere in _places(arguments):
        with somewhere as place:
            for bed, program in _programs(arguments):
                tell(f"{place.name}: {bed.mpi.label} …")
                directory = RESULTS / "collectives" / f"{bed.mpi.label}-{place.name}"
                directory.mkdir(parents=True, exist_ok=True)
                bench = Bench(bed, place, program, directory, arguments)
                done = measured(bench)
                bound = _bound(bench)
                where = {"where": place.name, "mpi": bed.mpi.label}
                measured_rows = list(rows_of(done, arguments.collective, bound))
                rows += [{**where, **row, "paired": _paired(bench, row)} for row in measured_rows]
                times += [{**where, **entry} for entry in done]
    if not rows:
        raise NotFoundError(
            "nothing was measured",
            hint="mpiric mpi install intelmpi brings IMB-MPI1; give it more --time-limit",
        )
    return Result(COLUMNS, rows, summary_of(rows), {"times": times})


def _places(arguments: Namespace) -> Iterator[Any]:
    selected = arguments.where or ("shared", "fast", "slow")
    shares = (str(Path(arguments.imb_openmpi).absolute().parent),) if arguments.imb_openmpi else ()
    for name, device, most_bytes in (
        ("shared", "", 4 << 20),
        ("fast", "fast0", 256 << 10),
        ("slow", "eth0", 16 << 10),
    ):
        if name in selected:
            yield place(name, device, arguments.most_bytes or most_bytes, shares=shares)


def _programs(arguments: Namespace) -> Iterator[tuple[Bed, str]]:
    available = beds()
    intel = available.get("intelmpi")
    common = f"{intel.mpi.prefix}/bin/IMB-MPI1" if intel else ""
    for implementation in ("mpich", "openmpi", "intelmpi"):
        if implementation not in available or (arguments.mpi and implementation not in arguments.mpi):
            continue
        program = arguments.imb_openmpi or "" if implementation == "openmpi" else common
        if program and os.access(program, os.X_OK):
            yield available[implementation], str(Path(program).absolute())
        else:
            tell(f"{implementation} is left out: IMB-MPI1 for it is not there (--imb-openmpi FILE)")


def measured(bench: Bench) -> list[dict[str, Any]]:
    """Return the runs of all rounds: collective, way, round, times. Save each before the next one starts."""
    arguments, log = bench.arguments, bench.directory / "times.jsonl"
    if not arguments.resume:
        log.unlink(missing_ok=True)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True) if log.exists() else []
    done = [json.loads(line) for line in lines if line.endswith("}\n")]
    have = {(entry["collective"], entry["way"], entry["round"]) for entry in done}
    random = Random(f"collectives {arguments.seed}")
    ways: dict[str, dict[str, dict[str, str]]] = {}

    def keep(collective: str, number: int, way: str, times: Times) -> None:
        entry = {"collective": collective, "way": way, "round": number, "at": time.time(), "seconds": times}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        done.append(entry)

    for number in range(arguments.rounds or (2 if arguments.quick else 5)):
        for collective in random.sample(arguments.collective, len(arguments.collective)):
            if time.monotonic() > arguments.until:
                return done
            if collective not in ways:
                ways[collective] = bench.ways(collective, partial(keep, collective, number))
            for way in random.sample(list(ways[collective]), len(ways[collective])):
                if (collective, way, number) in have:
                    continue
                tell(f"  round {number + 1}: {collective} {way}")
                keep(collective, number, way, bench.times(collective, ways[collective][way]))
    return done


def rows_of(
    done: Sequence[Mapping[str, Any]], collectives: Iterable[str], bound: Callable[[str, int], float]
) -> Iterator[dict[str, Any]]:
    """Return the table, from the rounds that contain a run of the way and an untuned run."""
    series: dict[tuple[str, str], dict[int, Times]] = {}
    for entry in done:
        times = {int(size): float(seconds) for size, seconds in entry["seconds"].items()}
        series.setdefault((entry["collective"], entry["way"]), {})[entry["round"]] = times
    for collective in collectives:
        untuned = series.get((collective, "untuned"), {})
        for way in _WAYS:
            tuned = series.get((collective, way), {})
            both = sorted(untuned.keys() & tuned.keys())
            pairs = [(untuned[number], tuned[number]) for number in both]
            if gain := gains(pairs, partial(bound, collective)):
                yield {"collective": collective, "way": way, **gain}


def _paired(bench: Bench, row: Mapping[str, Any]) -> float | None:
    """Return the gain in the run that learned, where library and choice alternated every millisecond.

    Geometric mean over size classes; differences between runs have no influence.
    """
    learned = bench.directory / f"{row['collective']}.policy.json"
    if row["way"] != "replayed" or not learned.is_file():
        return None
    keys = [key for key in read_learned(learned).keys if key.collective == row["collective"].lower()]
    paired_gains = [(key.gain if key.decided else None) or 1.0 for key in keys]
    return geometric_mean(paired_gains) if paired_gains else None


def _swept(bench: Bench, collective: str) -> dict[str, str]:
    """Return the variables of a policy that `mpiric sweep` found without running IMB."""
    directory = bench.directory / f"{collective}.export"
    shell = directory / "collectives.sh"
    if not (bench.arguments.resume and shell.is_file()):
        tell(f"  {collective}: sweeping")
        environment = {**bench.bed.environment, **bench.place.environment(bench.bed)}
        sweep = directory / "sweep"
        command = [str(Path(sys.executable).with_name("mpiric")), "sweep", "--json", "-o", str(sweep)]
        command += ["--collectives", collective.lower()]
        command += ["--sizes", f"4:{bench.place.most_bytes}", "--ranks", str(bench.place.ranks)]
        command += ["--per-node", str(bench.place.ranks // bench.place.nodes)]
        command += ["--seconds", str(bench.arguments.seconds), "--", *bench.place.line(bench.bed)]
        result = json.loads(bench.place.execute(command, environment))
        tell(f"  swept {result['points']} of {result['grid_points']} points")
        learned = read_learned(next(sweep.glob("*.policy.json")))
        for sentence in export_policy(learned, directory, LocalHost(), of_library(learned)):
            tell(f"  {sentence}")
    if not shell.is_file():
        return {}
    return dict(re.findall(r"^export (\w+)='?(.*?)'?$", shell.read_text(), re.MULTILINE))


def gains(
    pairs: Sequence[tuple[Times, Times]], bound: Callable[[int], float]
) -> dict[str, float | int | None] | None:
    """Geometric mean over sizes of the median ratio of pairs; the worst; odd sizes apart; above the bound.

    ``pairs`` are the rounds: the times untuned and tuned.
    """
    sizes = set.intersection(*({*untuned} & {*tuned} for untuned, tuned in pairs)) if pairs else set()
    by_size = {
        size: median(untuned[size] / tuned[size] for untuned, tuned in pairs) for size in sorted(sizes)
    }
    powers = [ratio for size, ratio in by_size.items() if size & (size - 1) == 0]
    if not powers:
        return None
    odd = [ratio for size, ratio in by_size.items() if size & (size - 1)]
    above = [median(tuned[size] for _, tuned in pairs) / bound(size) for size in by_size]
    worst = min(by_size, key=lambda size: by_size[size])
    return {
        "gain": geometric_mean(powers),
        "sizes": len(powers),
        "worst": by_size[worst],
        "worst_bytes": worst,
        "below": sum(ratio < _AS_GOOD for ratio in by_size.values()),
        "odd": geometric_mean(odd) if odd else None,
        "bound": geometric_mean(above),
        "rounds": len(pairs),
    }


def _bound(bench: Bench) -> Callable[[str, int], float]:
    """Return the latency–bandwidth lower bound, from a ping-pong between the first and the last rank."""
    file = bench.directory / "pingpong.json"
    if not (bench.arguments.resume and file.is_file()):
        file.write_text(json.dumps(_ping_pong(bench)))
    times = {int(size): float(seconds) for size, seconds in json.loads(file.read_text()).items()}
    latency, largest = times[1], max(times)
    per_byte = max(times[largest] - latency, 0.0) / largest
    parts = bench.place.nodes if bench.place.nodes > 1 else bench.place.ranks
    share = bench.place.ranks // parts  # ranks behind one network interface

    def bound(collective: str, size: int) -> float:
        return lower_bound(collective, parts, size, latency, per_byte, share)

    return bound


def _ping_pong(bench: Bench) -> Times:
    environment = {**bench.bed.environment, **bench.place.environment(bench.bed)}
    line = bench.place.line(bench.bed)
    program = [bench.program, *_PINGPONG, "-map", f"{bench.place.ranks // 2}x2", "PingPong"]
    if bench.place.nodes == 1:
        program = [bench.program, *_PINGPONG, "PingPong"]
    rows = [row.split() for row in bench.place.execute([*line, *program], environment).splitlines()]
    return {
        int(row[0]): float(row[2]) * 1e-6
        for row in rows
        if len(row) == 4 and all(re.fullmatch(r"[0-9.]+", word) for word in row)
    }


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Way by way and library by library, over the collectives."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row["where"], row["mpi"], row["way"]), []).append(row["gain"])
    parts = [
        f"{where}, {mpi}, {way}: {geometric_mean(values):.2f}×"
        for (where, mpi, way), values in groups.items()
    ]
    return "Geometric mean over collectives and sizes of untuned ÷ way: " + "; ".join(parts) + "."


if __name__ == "__main__":
    sys.exit(main())

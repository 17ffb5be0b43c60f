"""How much faster are IMB's collectives tuned: by mpiric online, replayed, exported; by Intel's Autotuner.

Every round runs each way once, in random order, on 2 ranks in shared memory or on 4 hosts × 2 ranks of the
virtual cluster (tests/lab). Untuned is the library's default with the settings that make more ranks than
cores bearable. IMB-MPI1 comes with Intel MPI and runs under MPICH too; for Open MPI build it from its source:
git clone https://github.com/intel/mpi-benchmarks
make -C mpi-benchmarks/src_cpp TARGET=MPI1 CC=mpicc CXX=mpicxx
"""

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks._imb import lower_bound, parse_imb
from benchmarks._places import Place, place
from benchmarks._programs import Bed, beds
from benchmarks._report import RESULTS, Result, options, run, tell
from mpiric.host.local import LocalHost
from mpiric.model.errors import NotFoundError
from mpiric.tuning.policy import condense, read_learned
from mpiric.workflows.policies import export_policy, lay_out, tuner_for

_GOALS = ("Allreduce", "Bcast", "Scatter", "Allgather", "Alltoall", "Reduce_scatter")
_PINGPONG = ("-msglog", "0:17", "-iter", "50", "-time", "5")
_PATIENCE_S = 10  # of IMB with one size; it leaves out what takes longer, and the number of sizes says so
_ODD = (12, 1000, 3000, 24_000, 100_000)  # sizes that are no powers of two
COLUMNS = {
    "where": "where",
    "mpi": "MPI",
    "collective": "collective",
    "way": "way",
    "gain": "untuned ÷ way",
    "sizes": "sizes",
    "worst": "worst size",
    "odd": "odd sizes",
    "bound": "way ÷ bound",
}


@dataclass(frozen=True)
class Bench:
    """IMB under one library in one place."""

    bed: Bed
    place: Place
    program: str
    directory: Path
    given: Namespace
    ways: dict[str, dict[str, str]] = field(default_factory=dict)

    def times(self, way: str) -> dict[tuple[str, int], float]:
        """One run: (collective, bytes) → seconds of the slowest rank."""
        environment = {**self.bed.environment, **self.place.environment(self.bed), **self.ways[way]}
        said = self.place.execute([*self.place.line(self.bed), self.program, *self._options()], environment)
        return parse_imb(said)

    def _options(self) -> list[str]:
        lengths = self.directory / "lengths"
        powers = [2**power for power in range(2, 23) if 2**power <= self.place.most_bytes]
        if self.given.quick:
            powers = powers[::4]
        odd = [size for size in _ODD if size <= self.place.most_bytes]
        lengths.write_text("".join(f"{size}\n" for size in sorted({*powers, *odd})))
        words = ["-npmin", str(self.place.ranks), "-msglen", str(lengths), "-time", str(_PATIENCE_S)]
        return [*words, "-iter", str(self.given.calls), "-root_shift", "on", *self.given.collective]


def main() -> int:
    """Every library and place asked for."""
    parser = options("collectives", (__doc__ or "").splitlines()[0])
    parser.add_argument("--where", action="append", choices=("shared", "slow", "fast"), help="default all")
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--collective", action="append", help=f"of IMB; default {', '.join(_GOALS)}")
    parser.add_argument("--imb-openmpi", help="IMB-MPI1 built for Open MPI")
    parser.add_argument("--rounds", type=int, help="of all ways (default 5, quick 2)")
    parser.add_argument("--calls", type=int, default=200, help="of IMB, for one size of one collective")
    parser.add_argument("--seconds", type=float, default=0.05, help="of the sweep, for one point")
    parser.add_argument("--most-bytes", type=int, help="largest message; default 4 MiB, 256 KiB, 16 KiB")
    return run("collectives", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """All ways in turns, for each library in each place."""
    given.collective = given.collective or list(_GOALS)
    rows: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for somewhere in _places(given):
        with somewhere as here:
            for bed, program in _programs(given):
                tell(f"{here.name}: {bed.mpi.label} …")
                found, raw = _compare(here, bed, program, given)
                rows += found
                times += raw
    if not rows:
        raise NotFoundError("no IMB-MPI1 was found", hint="mpiric mpi install intelmpi brings it")
    return Result(COLUMNS, rows, summary_of(rows), {"times": times})


def _places(given: Namespace) -> Iterator[Any]:
    wanted = given.where or ("shared", "fast", "slow")
    for name, device, most in (
        ("shared", "", 4 << 20),
        ("fast", "fast0", 256 << 10),
        ("slow", "eth0", 16 << 10),
    ):
        if name in wanted:
            yield place(name, device, given.most_bytes or most)


def _programs(given: Namespace) -> Iterator[tuple[Bed, str]]:
    here = beds()
    intel = here.get("intelmpi")
    common = f"{intel.mpi.prefix}/bin/IMB-MPI1" if intel else ""
    for implementation in ("mpich", "openmpi", "intelmpi"):
        if implementation not in here or (given.mpi and implementation not in given.mpi):
            continue
        program = given.imb_openmpi or "" if implementation == "openmpi" else common
        if program and os.access(program, os.X_OK):
            yield here[implementation], str(Path(program).absolute())
        else:
            tell(f"{implementation} is left out: IMB-MPI1 for it is not there (--imb-openmpi FILE)")


def _compare(
    place: Place, bed: Bed, program: str, given: Namespace
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    directory = RESULTS / "collectives" / f"{bed.mpi.label}-{place.name}"
    directory.mkdir(parents=True, exist_ok=True)
    bench = Bench(bed, place, program, directory, given)
    bench.ways["untuned"] = {}
    bench.ways.update(_ways(bench))
    random = Random(f"collectives {given.seed}")
    series: dict[str, list[dict[tuple[str, int], float]]] = {way: [] for way in bench.ways}
    for count in range(given.rounds or (2 if given.quick else 5)):
        order = list(bench.ways)
        random.shuffle(order)
        for way in order:
            tell(f"  round {count + 1}: {way}")
            series[way].append(bench.times(way))
    bound = _bound(bench)
    rows = [
        {"where": place.name, "mpi": bed.mpi.label, "collective": collective, "way": way, **numbers}
        for way in bench.ways
        if way != "untuned"
        for collective in given.collective
        if (numbers := gains(series["untuned"], series[way], collective, bound)) is not None
    ]
    raw = [
        {
            "where": place.name,
            "mpi": bed.mpi.label,
            "way": way,
            "collective": c,
            "bytes": size,
            "seconds": each[c, size],
        }
        for way, rounds in series.items()
        for each in rounds
        for c, size in each
    ]
    return rows, raw


def _ways(bench: Bench) -> dict[str, dict[str, str]]:
    """Everything to be compared with untuned; each learns before the rounds begin, where it has to."""
    ways: dict[str, dict[str, str]] = {}
    policy = _swept(bench)
    learned = read_learned(policy)
    shell = export_policy(learned, bench.directory / "export", LocalHost())
    tell("\n".join(f"  {sentence}" for sentence in shell))
    ways["exported"] = _sourced(bench.directory / "export" / "collectives.sh")
    tuner = tuner_for(bench.bed.mpi)
    if tuner.library:
        preload = {"LD_PRELOAD": tuner.library}
        out = bench.directory / "online.policy.json"
        ways["online"] = {**preload, "MPIRIC_COLLECTIVES": "online"}
        bench.ways["learning"] = {**ways["online"], "MPIRIC_POLICY_OUT": str(out)}
        bench.times("learning")
        del bench.ways["learning"]
        replayed = lay_out(condense(read_learned(out)), bench.directory)
        ways["replayed"] = {**preload, "MPIRIC_COLLECTIVES": "policy", "MPIRIC_POLICY": replayed}
    if bench.bed.mpi.implementation == "intelmpi":
        dump = bench.directory / "autotuner.dat"
        ways["Autotuner online"] = {"I_MPI_TUNING_MODE": "auto"}
        bench.ways["dumping"] = {"I_MPI_TUNING_MODE": "auto", "I_MPI_TUNING_BIN_DUMP": str(dump)}
        bench.times("dumping")
        del bench.ways["dumping"]
        if dump.is_file():
            ways["Autotuner replayed"] = {"I_MPI_TUNING_BIN": str(dump)}
    return ways


def _swept(bench: Bench) -> Path:
    """What `mpiric sweep` finds there, in a run of its own: IMB is never looked at."""
    environment = {**bench.bed.environment, **bench.place.environment(bench.bed)}
    words = [
        str(Path(sys.executable).with_name("mpiric")),
        "sweep",
        "--json",
        "-o",
        str(bench.directory / "sweep"),
    ]
    words += ["--collectives", ",".join(name.lower() for name in bench.given.collective)]
    words += ["--sizes", f"4:{bench.place.most_bytes}", "--ranks", str(bench.place.ranks)]
    words += ["--per-node", str(bench.place.ranks // bench.place.nodes)]
    words += ["--seconds", str(bench.given.seconds), "--", *bench.place.line(bench.bed)]
    said = json.loads(bench.place.execute(words, environment))
    tell(f"  swept {said['points']} of {said['grid_points']} points")
    return next((bench.directory / "sweep").glob("*.policy.json"))


def _sourced(path: Path) -> dict[str, str]:
    """The variables of a file of ``export NAME='VALUE'``."""
    if not path.is_file():
        return {}
    rows = re.findall(r"^export (\w+)='?(.*?)'?$", path.read_text(), re.MULTILINE)
    return dict(rows)


def gains(
    untuned: Sequence[Mapping[tuple[str, int], float]],
    tuned: Sequence[Mapping[tuple[str, int], float]],
    collective: str,
    bound: Callable[[str, int], float],
) -> dict[str, float | None] | None:
    """Geometric mean over sizes of the median paired ratio; the worst; odd sizes apart; above the bound."""
    sizes = sorted({size for name, size in untuned[0] if name == collective and size})
    by_size = {
        size: median(a[collective, size] / b[collective, size] for a, b in zip(untuned, tuned, strict=True))
        for size in sizes
        if all((collective, size) in each for each in (*untuned, *tuned))
    }
    powers = [ratio for size, ratio in by_size.items() if size & (size - 1) == 0]
    if not powers:
        return None
    odd = [ratio for size, ratio in by_size.items() if size & (size - 1)]
    above = [median(each[collective, size] for each in tuned) / bound(collective, size) for size in by_size]
    return {
        "gain": geometric_mean(powers),
        "sizes": len(powers),
        "worst": min(by_size.values()),
        "odd": geometric_mean(odd) if odd else None,
        "bound": geometric_mean(above),
    }


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return exp(sum(log(value) for value in values) / len(values))


def _bound(bench: Bench) -> Callable[[str, int], float]:
    """The latency–bandwidth lower bound, from a ping-pong between the first and the last rank's places."""
    environment = {**bench.bed.environment, **bench.place.environment(bench.bed)}
    line = bench.place.line(bench.bed)
    program = [bench.program, *_PINGPONG, "-map", f"{bench.place.ranks // 2}x2", "PingPong"]
    if bench.place.nodes == 1:
        program = [bench.program, *_PINGPONG, "PingPong"]
    rows = [row.split() for row in bench.place.execute([*line, *program], environment).splitlines()]
    times = {
        int(row[0]): float(row[2]) * 1e-6
        for row in rows
        if len(row) == 4 and all(re.fullmatch(r"[0-9.]+", word) for word in row)
    }
    latency, largest = times[1], max(times)
    per_byte = max(times[largest] - latency, 0.0) / largest
    parts = bench.place.nodes if bench.place.nodes > 1 else bench.place.ranks
    share = bench.place.ranks // parts  # ranks behind one network interface

    def bound(collective: str, size: int) -> float:
        return lower_bound(collective, parts, size, latency, per_byte, share)

    return bound


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

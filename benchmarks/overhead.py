"""What the runtime adds to one MPI call: idle, recording, with call sites, with armed marks, beside mpiP.

One process, so that nothing is waited for, by its CPU time. Each round runs every mode once, in random
order; a number is the best of five passes inside a run, what is added the difference to the plain run of the
same round: its median over the rounds, with a 95 % interval. Instructions are counted by callgrind, as the
difference of two runs of different length. The goals: 8 ns for a call that is counted, two readings of the
clock and 12 ns for one that is timed, 10 ns more for one that may count the program's steps, 60 ns more for
its place in the program, 2 MiB of memory. Where marks are armed: 2 ns for a call that may count steps, 60 ns
for a result that is digested, nothing for any other.

Another build of the runtime is measured in the same rounds where it is given: `--against DIR`, its folder
`_native`; "before" marks its modes.

mpiP is measured where it is given: `--mpip mpich=PATH`, a libmpiP.so of its public release made for the
library of that name; MPICH's serves Intel MPI.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import ratio
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.tuning.proof.confidence_sequence import centre, median_interval

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "src/mpiric/_native"
PROGRAM = Path(__file__).parent / "_overhead.c"
COUNTED_NS, TIMED_NS, SITE_NS, MEMORY_KIB = 8.0, 12.0, 60.0, 2048.0
LEARNT_NS, ARMED_NS, DIGEST_NS = 10.0, 2.0, 60.0
ARMED = "armed"
BEFORE = "before: "
POLLED_IN_TURN = 17  # of polled calls one in so many is timed
COLUMNS = {
    "mpi": "MPI",
    "call": "call",
    "mode": "mode",
    "ns": "ns",
    "added_ns": "added ns",
    "added_interval_ns": "95 %",
    "goal_ns": "goal",
    "of_before": "÷ before",
    "of_before_interval": "95 %",
    "of_mpip": "÷ mpiP's",
    "of_mpip_interval": "95 %",
    "instructions": "instructions",
    "added_instructions": "added",
}


@dataclass(frozen=True)
class Kind:
    """A kind of call: where the program makes it, how many functions it calls, what share is timed."""

    place: str
    functions: int
    timed: float
    steps: int = 0  # functions that may count the program's steps
    results: int = 0  # of these, how many have a result that is digested

    def goal_ns(self, clock_ns: float, site_ns: float) -> float:
        """What recording may add to it, given the cost of one reading of the clock and of a call site."""
        own = TIMED_NS if self.timed == 1 else COUNTED_NS
        return self.functions * (own + self.timed * 2 * clock_ns + site_ns) + self.steps * LEARNT_NS

    @property
    def armed_goal_ns(self) -> float:
        """What armed marks may add to it."""
        return self.steps * ARMED_NS + self.results * DIGEST_NS


KINDS = {
    "Comm_rank": Kind("comm_rank", 1, 0),
    "Iprobe": Kind("iprobe", 1, 1 / POLLED_IN_TURN),
    "Irecv+Send+Wait": Kind("message", 3, 1, steps=1),
    "Allreduce(self)": Kind("allreduce", 1, 1, steps=1, results=1),
}
Times = Mapping[tuple[str, str], Sequence[float]]  # (mode, what the program says) → one a round


def modes(bed: Bed, place: Path, mpip: str, against: Path | None) -> dict[str, dict[str, str]]:
    """Name → environment."""
    runtime = {"LD_PRELOAD": str(runtime_of(bed))}
    record = {**runtime, "MPIRIC_RECORD_DIR": str(place / "record")}
    found = {"plain": {}, "idle": runtime, "mpiric": record}
    found["mpiric --call-sites"] = {**record, "MPIRIC_CALL_SITES": "1"}
    # A mark that the program never comes to.
    mark = {"MPIRIC_MARK": "MPI_Barrier@*@*:1,2", "MPIRIC_MARK_OUT": str(place / "record")}
    found[ARMED] = {**runtime, **mark}
    if against:
        other = {"LD_PRELOAD": str(runtime_of(bed, against.resolve()))}
        found[f"{BEFORE}idle"] = other
        found[f"{BEFORE}mpiric"] = {**record, **other}
    if mpip:
        found["mpiP -k 0"] = {"LD_PRELOAD": mpip, "MPIP": "-k 0"}
        found["mpiP"] = {"LD_PRELOAD": mpip}
    return found


def runtime_of(bed: Bed, native: Path = NATIVE) -> Path:
    """The runtime of the library's family, whether it is there or not."""
    return native / bed.mpi.abi_families[0].value / "libmpiric.so"


def execute(
    program: Path, environment: Mapping[str, str], place: Path, *words: str, tool: tuple[str, ...] = ()
) -> str:
    """Output of one run, stdout and stderr."""
    command = [*tool, str(program), *words]
    done = subprocess.run(
        command, env=dict(environment), cwd=place, capture_output=True, text=True, check=False, timeout=600
    )
    shutil.rmtree(place / "record", ignore_errors=True)
    for report in place.glob("*.mpiP"):
        report.unlink()
    if done.returncode:
        raise MpiricError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout + done.stderr


def instructions(program: Path, environment: Mapping[str, str], place: Path, kind: str) -> float | None:
    """Instructions of one call: the difference of two runs, so that start and end cancel."""
    if not shutil.which("valgrind"):
        return None
    where = f"--toggle-collect={KINDS[kind].place}"
    tool = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", where)
    counts = []
    for calls in (1_000, 6_000):
        said = execute(program, environment, place, kind, str(calls), tool=tool)
        counts.append(int(re.findall(r"Collected : (\d+)", said)[-1]))
    return (counts[1] - counts[0]) / 5_000


def measure(bed: Bed, given: argparse.Namespace, place: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of one library, and what else was found of it."""
    program = place / "overhead"
    subprocess.run(
        [bed.mpi.compilers["c"], "-O2", str(PROGRAM), "-o", str(program)],
        env=dict(bed.environment),
        check=True,
        capture_output=True,
    )
    mpip = given.mpip.get(bed.mpi.implementation, "")
    environments = {
        name: {**bed.environment, **variables}
        for name, variables in modes(bed, place, mpip, given.against).items()
    }
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    random = Random(given.seed)
    for _ in range(3 if given.quick else given.rounds):
        for mode in random.sample(list(environments), len(environments)):
            for line in execute(program, environments[mode], place).splitlines():
                what, _, value = line.rpartition(" ")
                if what in {*KINDS, "clock", "memory"}:
                    times[mode, what].append(float(value))
    counting = not (given.quick or given.no_instructions)
    counts = {
        (mode, kind): instructions(program, environment, place, kind) if counting else None
        for mode, environment in environments.items()
        for kind in KINDS
    }
    facts = {
        "clock_ns": centre(times["plain", "clock"]),
        "memory_kib": {
            mode: centre(differences(times[mode, "memory"], times["plain", "memory"]))
            for mode in environments
            if mode != "plain"
        },
    }
    return rows_of(bed.mpi.label, list(environments), times, counts), facts


def differences(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Differences of two series that ran in the same rounds."""
    return [upper - lower for upper, lower in zip(above, below, strict=True)]


def rows_of(
    mpi: str, names: Sequence[str], times: Times, counts: Mapping[tuple[str, str], float | None]
) -> list[dict[str, Any]]:
    """A row for each kind of call and mode."""
    clock_ns = centre(times["plain", "clock"])
    rows = []
    for kind, description in KINDS.items():
        plain, plain_count = times["plain", kind], counts["plain", kind]
        for mode in names:
            added, count = differences(times[mode, kind], plain), counts[mode, kind]
            row: dict[str, Any] = {"mpi": mpi, "call": kind, "mode": mode, "ns": centre(times[mode, kind])}
            rows.append(row)
            row["instructions"] = count
            if mode == "plain":
                continue
            row["added_ns"] = centre(added)
            low, high = median_interval(added, 0.05)
            row["added_interval_ns"] = [low, high] if isfinite(high) else None
            if BEFORE + mode in names:  # of the whole call, so that noise near zero divides nothing
                compared = ratio(times[mode, kind], times[BEFORE + mode, kind])
                row["of_before"], row["of_before_interval"] = compared.middle, compared.interval
            if count is not None and plain_count is not None:
                row["added_instructions"] = count - plain_count
            if mode == ARMED:
                row["goal_ns"] = description.armed_goal_ns
            if not mode.startswith("mpiric"):
                continue
            sites = mode.endswith("--call-sites")
            row["goal_ns"] = description.goal_ns(clock_ns, SITE_NS if sites else 0.0)
            peer = "mpiP" if sites else "mpiP -k 0"
            if peer in names and min(peers := differences(times[peer, kind], plain)) > 0:
                compared = ratio(added, peers)
                row["of_mpip"], row["of_mpip_interval"] = compared.middle, compared.interval
    return rows


def summary_of(rows: Sequence[Mapping[str, Any]], memory_kib: Mapping[str, float]) -> str:
    """What misses its goal, and by how much."""
    missed = [
        f"{row['mpi']} {row['call']} ({row['mode']}) by {row['added_ns'] - row['goal_ns']:.1f} ns"
        for row in rows
        if "goal_ns" in row and row["added_ns"] > row["goal_ns"]
    ]
    missed += [
        f"memory under {mpi} by {kib - MEMORY_KIB:.0f} KiB"
        for mpi, kib in memory_kib.items()
        if kib > MEMORY_KIB
    ]
    memory = ", ".join(f"{kib:.0f} KiB under {mpi}" for mpi, kib in memory_kib.items())
    return f"Memory added: {memory}. " + (
        f"Above the goal: {'; '.join(missed)}." if missed else "All goals are met."
    )


def work(given: argparse.Namespace) -> Result:
    """Every library that has a compiler and a runtime."""
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for name, bed in beds().items():
        if not bed.mpi.abi_families or not runtime_of(bed).is_file() or given.mpi not in ("", name):
            continue
        tell(bed.mpi.label)
        with tempfile.TemporaryDirectory(prefix="mpiric-overhead-") as place:
            found, facts[bed.mpi.label] = measure(bed, given, Path(place))
        rows += found
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    memory = {mpi: library_facts["memory_kib"]["mpiric"] for mpi, library_facts in facts.items()}
    return Result(COLUMNS, rows, summary_of(rows, memory), {"libraries": facts})


def named_paths(words: Sequence[str]) -> dict[str, str]:
    """MPI → path, of words NAME=PATH; Intel MPI takes MPICH's where it has none of its own.

    Raises NotFoundError.
    """
    paths: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not Path(path).is_file():
            raise NotFoundError(f"--mpip {word} names no file", hint="--mpip mpich=/path/of/libmpiP.so")
        paths[name] = str(Path(path).resolve())
    if "mpich" in paths:
        paths.setdefault("intelmpi", paths["mpich"])
    return paths


def main() -> int:
    """Parse, measure, print."""
    parser = options("overhead", __doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each mode")
    parser.add_argument("--mpi", default="", help="only this one: mpich, openmpi, intelmpi")
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="a folder `_native` of another build, to measure beside"
    )
    parser.add_argument("--no-instructions", action="store_true", help="times alone: callgrind takes minutes")
    parser.add_argument(
        "--mpip", action="append", default=[], metavar="MPI=PATH", help="a libmpiP.so to measure beside"
    )
    given = parser.parse_args()

    def with_paths(asked: argparse.Namespace) -> Result:
        asked.mpip = named_paths(asked.mpip)
        if asked.against and not list(asked.against.glob("*/libmpiric.so")):
            hint = "--against /path/of/src/mpiric/_native"
            raise NotFoundError(f"--against {asked.against} holds no runtime", hint=hint)
        return work(asked)

    return run("overhead", given, with_paths)


if __name__ == "__main__":
    sys.exit(main())

"""Overhead of the runtime per MPI call: idle, recording, with call sites, with armed marks; and of mpiP.

One process, so that no call waits; CPU time. Each round runs every mode once, in random order. A time is the
best of five passes inside a run; the overhead is the difference to the plain run of the same round: its
median over the rounds, with a 95 % interval. Callgrind counts instructions, as the difference of two runs of
different length. The goals: 8 ns for a counted call; two clock readings and 12 ns for a timed one; 10 ns more
for a call that may count the program's steps; 60 ns more for the call site; 2 MiB of memory. With armed
marks: 2 ns for a call that may count steps, 60 ns for a digested result, nothing for other calls.

`--against DIR` also measures another build of the runtime (its folder `_native`) in the same rounds; its
modes begin with "before".

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
from mpiric.statistics.confidence_sequence import centre, median_interval

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "src/mpiric/_native"
PROGRAM = Path(__file__).parent / "_overhead.c"
COUNTED_NS, TIMED_NS, SITE_NS, MEMORY_KIB = 8.0, 12.0, 60.0, 2048.0
LEARNT_NS, ARMED_NS, DIGEST_NS = 10.0, 2.0, 60.0
ARMED = "armed"
BEFORE = "before: "
POLLED_IN_TURN = 17  # one in 17 polled calls is timed
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
    """Kind of call: its name in the program, number of MPI functions, and share of timed calls."""

    place: str
    functions: int
    timed: float
    steps: int = 0  # functions that may count the program's steps
    results: int = 0  # functions whose result is digested

    def goal_ns(self, clock_ns: float, site_ns: float) -> float:
        """Return the goal for recording, given the cost of one clock reading and of a call site."""
        call_ns = TIMED_NS if self.timed == 1 else COUNTED_NS
        return self.functions * (call_ns + self.timed * 2 * clock_ns + site_ns) + self.steps * LEARNT_NS

    @property
    def armed_goal_ns(self) -> float:
        """Return the goal for armed marks."""
        return self.steps * ARMED_NS + self.results * DIGEST_NS


KINDS = {
    "Comm_rank": Kind("comm_rank", 1, 0),
    "Iprobe": Kind("iprobe", 1, 1 / POLLED_IN_TURN),
    "Irecv+Send+Wait": Kind("message", 3, 1, steps=1),
    "Allreduce(self)": Kind("allreduce", 1, 1, steps=1, results=1),
}
Times = Mapping[tuple[str, str], Sequence[float]]  # (mode, kind of call) → one time per round


def modes(bed: Bed, place: Path, mpip: str, against: Path | None) -> dict[str, dict[str, str]]:
    """Return name → environment."""
    runtime = {"LD_PRELOAD": str(runtime_of(bed))}
    record = {**runtime, "MPIRIC_RECORD_DIR": str(place / "record")}
    environments = {"plain": {}, "idle": runtime, "mpiric": record}
    environments["mpiric --call-sites"] = {**record, "MPIRIC_CALL_SITES": "1"}
    # The program never reaches this mark.
    mark = {"MPIRIC_MARK": "MPI_Barrier@*@*:1,2", "MPIRIC_MARK_OUT": str(place / "record")}
    environments[ARMED] = {**runtime, **mark}
    if against:
        other = {"LD_PRELOAD": str(runtime_of(bed, against.resolve()))}
        environments[f"{BEFORE}idle"] = other
        environments[f"{BEFORE}mpiric"] = {**record, **other}
    if mpip:
        environments["mpiP -k 0"] = {"LD_PRELOAD": mpip, "MPIP": "-k 0"}
        environments["mpiP"] = {"LD_PRELOAD": mpip}
    return environments


def runtime_of(bed: Bed, native: Path = NATIVE) -> Path:
    """Return the path of the runtime of the library's family; it may not exist."""
    return native / bed.mpi.abi_families[0].value / "libmpiric.so"


def execute(
    program: Path, environment: Mapping[str, str], place: Path, *arguments: str, tool: tuple[str, ...] = ()
) -> str:
    """Run the program once and return stdout and stderr."""
    command = [*tool, str(program), *arguments]
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
        output = execute(program, environment, place, kind, str(calls), tool=tool)
        counts.append(int(re.findall(r"Collected : (\d+)", output)[-1]))
    return (counts[1] - counts[0]) / 5_000


def measure(
    bed: Bed, arguments: argparse.Namespace, place: Path
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Measure the rows of one library, and facts for the JSON."""
    program = place / "overhead"
    subprocess.run(
        [bed.mpi.compilers["c"], "-O2", str(PROGRAM), "-o", str(program)],
        env=dict(bed.environment),
        check=True,
        capture_output=True,
    )
    mpip = arguments.mpip.get(bed.mpi.implementation, "")
    environments = {
        name: {**bed.environment, **variables}
        for name, variables in modes(bed, place, mpip, arguments.against).items()
    }
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    random = Random(arguments.seed)
    for _ in range(3 if arguments.quick else arguments.rounds):
        for mode in random.sample(list(environments), len(environments)):
            for line in execute(program, environments[mode], place).splitlines():
                what, _, value = line.rpartition(" ")
                if what in {*KINDS, "clock", "memory"}:
                    times[mode, what].append(float(value))
    counting = not (arguments.quick or arguments.no_instructions)
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
    """Return a row for each kind of call and mode."""
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
            if BEFORE + mode in names:  # ratio of whole calls: an overhead near zero would be a bad divisor
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
    """Return the summary: calls that miss their goal, and by how much."""
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


def work(arguments: argparse.Namespace) -> Result:
    """Return all libraries with a compiler and a runtime."""
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for name, bed in beds().items():
        if not bed.mpi.abi_families or not runtime_of(bed).is_file() or arguments.mpi not in ("", name):
            continue
        tell(bed.mpi.label)
        with tempfile.TemporaryDirectory(prefix="mpiric-overhead-") as place:
            library_rows, facts[bed.mpi.label] = measure(bed, arguments, Path(place))
        rows += library_rows
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    memory = {mpi: library_facts["memory_kib"]["mpiric"] for mpi, library_facts in facts.items()}
    return Result(COLUMNS, rows, summary_of(rows, memory), {"libraries": facts})


def named_paths(pairs: Sequence[str]) -> dict[str, str]:
    """Parse NAME=PATH into MPI → path; Intel MPI uses MPICH's path if it has none.

    Raises NotFoundError.
    """
    paths: dict[str, str] = {}
    for word in pairs:
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
        "--against", type=Path, metavar="DIR", help="folder `_native` of another build to compare with"
    )
    parser.add_argument(
        "--no-instructions", action="store_true", help="do not run callgrind, which takes minutes"
    )
    parser.add_argument(
        "--mpip", action="append", default=[], metavar="MPI=PATH", help="libmpiP.so to compare with"
    )
    parsed = parser.parse_args()

    def with_paths(arguments: argparse.Namespace) -> Result:
        arguments.mpip = named_paths(arguments.mpip)
        if arguments.against and not list(arguments.against.glob("*/libmpiric.so")):
            hint = "--against /path/of/src/mpiric/_native"
            raise NotFoundError(f"--against {arguments.against} holds no runtime", hint=hint)
        return work(arguments)

    return run("overhead", parsed, with_paths)


if __name__ == "__main__":
    sys.exit(main())

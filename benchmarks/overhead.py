"""What the runtime adds to one MPI call: plain, preloaded but idle, recording, and mpiP where it is given.

One process, so that nothing is waited for, by its CPU time. The modes run in turns, in random order; each
number is the best of five passes inside a run, then the median over rounds with its quartiles. Instructions
are counted by callgrind.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._report import Result, options, run, tell
from mpiric.host.local import LocalHost
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "src/mpiric/_native"
PROGRAM = Path(__file__).parent / "_overhead.c"
KINDS = ("Comm_rank", "Iprobe", "Irecv+Send+Wait", "Allreduce(self)")
COLUMNS = {
    "mpi": "MPI",
    "call": "call",
    "mode": "mode",
    "ns": "ns",
    "quartiles_ns": "quartiles",
    "added_ns": "added ns",
    "instructions": "instructions",
    "added_instructions": "added",
}


def modes(mpi: MpiLibrary, place: Path, mpip: str) -> dict[str, dict[str, str]]:
    """Name → environment."""
    runtime = str(NATIVE / mpi.abi_families[0].value / "libmpiric.so")
    found = {
        "plain": {},
        "idle": {"LD_PRELOAD": runtime},
        "mpiric": {"LD_PRELOAD": runtime, "MPIRIC_RECORD_DIR": str(place / "record")},
        "mpiric, no Iprobe": {
            "LD_PRELOAD": runtime,
            "MPIRIC_RECORD_DIR": str(place / "record"),
            "MPIRIC_UNEXPECTED": "0",
        },
    }
    if mpip:
        found["mpiP -k 0"] = {"LD_PRELOAD": mpip, "MPIP": "-k 0"}
        found["mpiP"] = {"LD_PRELOAD": mpip}
    return found


def execute(
    program: Path, environment: Mapping[str, str], place: Path, *words: str, tool: tuple[str, ...] = ()
) -> str:
    """Output of one run, stdout and stderr."""
    done = subprocess.run(
        [*tool, str(program), *words],
        env={**LocalHost().environ, **environment},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    shutil.rmtree(place / "record", ignore_errors=True)
    return done.stdout + done.stderr


def instructions(program: Path, environment: Mapping[str, str], place: Path, kind: str) -> float | None:
    """Instructions of one call: the difference of two runs, so that start and end cancel."""
    if not shutil.which("valgrind"):
        return None
    tool = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    counts = []
    for calls in (1_000, 6_000):
        said = execute(program, environment, place, kind, str(calls), tool=tool)
        counts.append(int(re.findall(r"Collected : (\d+)", said)[-1]))
    return (counts[1] - counts[0]) / 5_000


def measure(mpi: MpiLibrary, given: argparse.Namespace, place: Path) -> list[dict[str, Any]]:
    """Rows of one library."""
    program = place / "overhead"
    subprocess.run(
        [mpi.compilers["c"], "-O2", str(PROGRAM), "-o", str(program)], check=True, capture_output=True
    )
    base = {**mpi.environment, "LD_LIBRARY_PATH": ":".join(mpi.library_path)}
    environments = {name: {**base, **one} for name, one in modes(mpi, place, given.mpip).items()}
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    random = Random(given.seed)
    for _ in range(2 if given.quick else given.rounds):
        for mode in random.sample(list(environments), len(environments)):
            for line in execute(program, environments[mode], place).splitlines():
                kind, _, value = line.rpartition(" ")
                if kind in KINDS:
                    times[mode, kind].append(float(value))
    counted = {
        (mode, kind): None if given.quick else instructions(program, environment, place, kind)
        for mode, environment in environments.items()
        for kind in KINDS
    }
    rows = []
    for kind in KINDS:
        for mode in environments:
            values, plain = times[mode, kind], times["plain", kind]
            count, base_count = counted[mode, kind], counted["plain", kind]
            quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
            rows.append(
                {
                    "mpi": mpi.label,
                    "call": kind,
                    "mode": mode,
                    "ns": statistics.median(values),
                    "quartiles_ns": [quartiles[0], quartiles[2]],
                    "added_ns": statistics.median(
                        one - other for one, other in zip(values, plain, strict=True)
                    ),
                    "instructions": count,
                    "added_instructions": None if count is None or base_count is None else count - base_count,
                }
            )
    return rows


def work(given: argparse.Namespace) -> Result:
    """Every library that has a compiler and a runtime."""
    rows: list[dict[str, Any]] = []
    for mpi in find_mpis(LocalHost()):
        runtime = NATIVE / mpi.abi_families[0].value / "libmpiric.so" if mpi.abi_families else Path()
        if not mpi.compilers.get("c") or not runtime.is_file() or (given.mpi and given.mpi not in mpi.label):
            continue
        tell(mpi.label)
        with tempfile.TemporaryDirectory(prefix="mpiric-overhead-") as place:
            rows += measure(mpi, given, Path(place))
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    worst = max(row["added_ns"] for row in rows if row["mode"] == "mpiric" and row["call"] == "Comm_rank")
    return Result(
        COLUMNS,
        rows,
        f"Counting a local call adds {worst:.1f} ns at most; a timed one reads the clock twice.",
    )


def main() -> int:
    """Parse, measure, print."""
    parser = options("overhead", __doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each mode")
    parser.add_argument("--mpi", default="", help="only libraries whose label contains this")
    parser.add_argument(
        "--mpip", default="", help="path of a libmpiP.so built for the library, to measure beside"
    )
    return run("overhead", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

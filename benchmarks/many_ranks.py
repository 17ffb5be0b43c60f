"""Recording many ranks on few CPUs: the run, MPI_Finalize with its merge, the report, for 16, 64, 256 ranks.

A ring exchanges messages and reduces now and then. Plain and recorded runs take turns, with the settings of
each library that make more ranks than CPUs bearable. MPI_Finalize is timed from when the last rank enters it
to when the last one leaves; the record's messages must be those the program sent.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.statistics.confidence_sequence import centre

PROGRAM = Path(__file__).parent / "_many_ranks.c"
STEPS = 50
GOAL_RANKS, GOAL_MS = 64, 100.0  # limit of the time that the merge adds to MPI_Finalize
LIMIT_S = 600.0
COLUMNS = {
    "mpi": "MPI",
    "ranks": "ranks",
    "plain_s": "plain s",
    "profile_s": "profile s",
    "finalize_ms": "Finalize ms",
    "recorded_finalize_ms": "recorded ms",
    "added_ms": "added ms",
    "added_spread_ms": "least, most",
    "report_s": "report s",
    "record_kib": "record KiB",
}
# Ranks that wait must let the others run; MPICH's collectives in shared memory do not.
ENVIRONMENT = {
    "mpich": {
        f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir"
        for name in ("ALLREDUCE", "BARRIER", "REDUCE", "BCAST")
    },
}
WORDS = {
    "openmpi": (
        *("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"),
        *("--mca", "threads_pthreads_yield_strategy", "nanosleep"),
    ),
}


def build(bed: Bed, place: Path) -> Path:
    """Build the program with the library's compiler."""
    program = place / "ring"
    command = [bed.mpi.compilers["c"], "-O2", str(PROGRAM), "-o", str(program)]
    subprocess.run(command, env=dict(bed.environment), check=True, capture_output=True)
    return program


def timed(command: Sequence[str], environment: Mapping[str, str], place: Path) -> tuple[float, str]:
    """Return the seconds and stdout of a command. Raises MpiricError if it fails."""
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, cwd=place, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MpiricError(f"{' '.join(command)}: not done after {LIMIT_S:.0f} s") from error
    if done.returncode:
        raise MpiricError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return time.monotonic() - begin, done.stdout


def finalize_ms(lines: Path) -> float:
    """Return the ms between the last entry to MPI_Finalize and the last exit; remove the file."""
    pairs = [[float(word) for word in line.split()] for line in lines.read_text().splitlines()]
    lines.unlink()
    return 1000 * (max(exited for _, exited in pairs) - max(entered for entered, _ in pairs))


def measure(bed: Bed, ranks: int, rounds: int, random: Random, place: Path) -> dict[str, Any]:
    """Measure a row."""
    lines, record = place / "finalize", place / "record"
    environment = {**bed.environment, **ENVIRONMENT.get(bed.mpi.implementation, {})}
    command = [bed.mpi.launcher, *WORDS.get(bed.mpi.implementation, ()), "-n", str(ranks)]
    command += [str(build(bed, place)), str(STEPS), str(lines)]
    profile = [sys.executable, "-m", "mpiric", "profile", "--json", "-o", str(record), "--", *command]
    times: dict[str, list[float]] = {name: [] for name in ("plain", "profile", "finalize", "recorded")}
    for _ in range(rounds):
        for side in random.sample(["plain", "profile"], 2):
            wall_s, output = timed(profile if side == "profile" else command, environment, place)
            times[side].append(wall_s)
            times["recorded" if side == "profile" else "finalize"].append(finalize_ms(lines))
            if side == "profile":
                check(json.loads(output), ranks)
    report_s, _ = timed([sys.executable, "-m", "mpiric", "report", str(record)], environment, place)
    added = [
        recorded_ms - plain_ms
        for recorded_ms, plain_ms in zip(times["recorded"], times["finalize"], strict=True)
    ]
    return {
        "mpi": bed.mpi.label,
        "ranks": ranks,
        "plain_s": centre(times["plain"]),
        "profile_s": centre(times["profile"]),
        "finalize_ms": centre(times["finalize"]),
        "recorded_finalize_ms": centre(times["recorded"]),
        "added_ms": centre(added),
        "added_spread_ms": [min(added), max(added)],
        "report_s": report_s,
        "record_kib": (record / "record.mpiric").stat().st_size / 1024,
    }


def check(result: Mapping[str, Any], ranks: int) -> None:
    """Check that the record has exactly the ranks and messages of the program. Raises MpiricError."""
    messages = {(source, to): count for source, to, count, _ in result["p2p"]}
    expected = {(rank, (rank + 1) % ranks): STEPS for rank in range(ranks)}
    if result["ranks"] != ranks or messages != expected:
        raise MpiricError(f"the record of {ranks} ranks does not hold the messages that were sent")


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary: time that the merge added where a goal exists."""
    goal_rows = [row for row in rows if row["ranks"] == GOAL_RANKS]
    additions = ", ".join(f"{row['added_ms']:.0f} ms under {row['mpi']}" for row in goal_rows)
    longest = max(row["profile_s"] + row["report_s"] for row in rows)
    return (
        f"At {GOAL_RANKS} ranks the merge adds {additions} to MPI_Finalize; the goal is {GOAL_MS:.0f} ms. "
        if goal_rows
        else ""
    ) + f"The slowest profile and its report took {longest:.1f} s."


def work(arguments: argparse.Namespace) -> Result:
    """Measure every number of ranks under every library that has settings."""
    rows = []
    random = Random(arguments.seed)
    for name, bed in beds().items():
        if name not in {*ENVIRONMENT, *WORDS} or arguments.mpi not in ("", name):
            continue
        for ranks in [8] if arguments.quick else arguments.ranks or [16, 64, 256]:
            with tempfile.TemporaryDirectory(prefix="mpiric-ranks-") as place:
                row = measure(bed, ranks, 1 if arguments.quick else arguments.rounds, random, Path(place))
            tell(
                f"{row['mpi']}, {ranks}: {row['plain_s']:.1f} s plain, {row['profile_s']:.1f} s profiled, "
                f"MPI_Finalize {row['finalize_ms']:.0f} ms and {row['added_ms']:.0f} ms more"
            )
            rows.append(row)
    if not rows:
        raise NotFoundError(
            "neither MPICH nor Open MPI with a compiler is installed", hint="run `make setup`"
        )
    return Result(COLUMNS, rows, summary_of(rows))


def main() -> int:
    """Parse the options, measure, print and save the table."""
    parser = options("many_ranks", __doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side")
    parser.add_argument(
        "--ranks", type=int, action="append", help="instead of 16, 64 and 256; may be repeated"
    )
    parser.add_argument("--mpi", default="", help="only this one: mpich or openmpi")
    return run("many_ranks", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

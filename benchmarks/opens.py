"""Time that the runtime's options for files add to open(2). The goal is at most 20 µs.

Each number is the median of 2000 opens in a run, minus the median without the runtime; runs take turns in
random order. Files named by a rule are created, and opened for reading and for both; other files are created.
One rank. System calls are cheap on a file system in memory and take as long as the servers on a remote one.
On a disk, the time of an open that creates a file also depends on the files that earlier runs created there.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.workflows.policies import tuner_for

_PROGRAM = Path(__file__).parent / "_opens.c"
_MOST_US = 20.0
_OPENS = ("made", "read", "both", "others")
_OPTIONS = {
    "recorded": {},
    "stdio-buffer": {"MPIRIC_STDIO_KIB": "1024"},
    "layout": {"MPIRIC_FILE_LAYOUTS": "named.* 1x1048576"},
}
_COLUMNS = {
    "mpi": "MPI",
    "option": "with",
    **{f"{name}_us": f"{name}: µs" for name in _OPENS},
    **{f"{name}_more_us": f"{name}: more" for name in _OPENS},
}


def measure(arguments: argparse.Namespace) -> Result:
    """Measure all options with each requested library."""
    rows: list[dict[str, Any]] = []
    for implementation, bed in beds().items():
        runtime = tuner_for(bed.mpi).library
        if runtime and (not arguments.mpi or implementation in arguments.mpi):
            tell(bed.mpi.label)
            rows.extend(_rows(bed, runtime, arguments))
    if not rows:
        raise NotFoundError("no MPI here has both a C compiler and a runtime", hint="run `make setup`")
    more = [row[f"{name}_more_us"] for row in rows for name in _OPENS if row["option"] != "plain"]
    within = sum(added_us <= _MOST_US for added_us in more)
    return Result(
        _COLUMNS, rows, f"within {_MOST_US:.0f} µs: {within} of {len(more)}, at most {max(more):.1f}"
    )


def _rows(bed: Bed, runtime: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    program = bed.build(_PROGRAM, "opens")
    ways: dict[str, dict[str, str]] = {"plain": {}}
    for name, settings in _OPTIONS.items():
        ways[name] = {"LD_PRELOAD": runtime, **settings}
    times: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in ways}
    random = Random(f"opens {arguments.seed}")
    for _ in range(arguments.rounds or (3 if arguments.quick else 9)):
        for name in random.sample(list(ways), len(ways)):
            for what, took_us in _measured(bed, program, ways[name], arguments, record=name == "recorded"):
                times[name][what].append(took_us)
    plain = {name: median(times["plain"][name]) for name in _OPENS}
    for way, way_times in times.items():
        took = {name: median(way_times[name]) for name in _OPENS}
        yield {
            "mpi": bed.mpi.label,
            "option": way,
            **{f"{name}_us": round(took[name], 2) for name in _OPENS},
            **{f"{name}_more_us": round(took[name] - plain[name], 2) for name in _OPENS},
        }


def _measured(
    bed: Bed, program: str, settings: dict[str, str], arguments: argparse.Namespace, *, record: bool
) -> Iterator[tuple[str, float]]:
    """Measure each kind of open in a run in its own directory."""
    with TemporaryDirectory(prefix="mpiric-opens-", dir=arguments.directory) as place:
        more = {**settings, **({"MPIRIC_RECORD_DIR": place} if record else {})}
        work = Path(place) / "work"
        work.mkdir()
        done = subprocess.run(
            [bed.mpi.launcher, "-n", "1", program],
            cwd=work,
            env={**bed.environment, **more},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise ProgramFailedError(f"{program}: {done.stderr.strip()[-300:]}")
    for line in done.stdout.splitlines():
        what, took_us = line.split()
        yield what, float(took_us)


def main() -> int:
    """Entry point."""
    parser = options("opens", (__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--directory", help="that files are made in; in memory for numbers that repeat")
    parser.add_argument("--rounds", type=int, default=0, help="of all options (default 9, quick 3)")
    return run("opens", parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())

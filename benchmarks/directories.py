"""Cost of the directory of a trial, by the number of files in the working directory, with 1 TB of input.

The input is sparse. A trial creates a file and appends to another. Its cost is all time outside the run:
directory, mounts, start of the shell, comparison of the files; the median of consecutive trials.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._report import Result, options, run
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch

COLUMNS = {
    "files": "files",
    "kind": "directory",
    "begin_s": "at the start s",
    "trial_s": "a trial s",
    "why": "",
}
INPUT_BYTES = 1 << 40
A_DIRECTORY = 100  # files in each
SCRIPT = "echo new > out.txt; echo more >> f0/0"


def make_tree(work: Path, files: int) -> None:
    """Small files in directories, and one sparse input."""
    for number in range(files):
        if number % A_DIRECTORY == 0:
            directory = work / f"f{number // A_DIRECTORY}"
            directory.mkdir()
        (directory / str(number % A_DIRECTORY)).write_text("a line of a source file\n")
    with (work / "input.bin").open("wb") as file:
        file.truncate(INPUT_BYTES)


def costs(work: Path, place: Path, trials: int, *, overlay: bool) -> tuple[str, float, list[float]]:
    """Return the kind of directory, seconds until trials can start, and seconds of overhead of each."""
    start = time.monotonic()
    output, launch = place / "out", Launch(("/bin/sh", "-c", SCRIPT), str(work))
    with Runner() as runner:
        policy = CopyPolicy(files_limit=10**7, on_this_node=True, mounter=runner if overlay else None)
        with WorkingCopies(work, place / "store", policy) as copies:
            begin_s, overheads_s = time.monotonic() - start, []
            for _ in range(trials):
                start = time.monotonic()
                directory = copies.fresh()
                done = runner.execute(
                    launch,
                    os.environ,
                    Workspace(directory.path, output, output, directory.mount),
                    None,
                )
                assert set(directory.written()) == {"out.txt", "f0/0"}
                overheads_s.append(time.monotonic() - start - done.wall_s)
    return "overlay" if directory.mount else "copy", begin_s, overheads_s


def _rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for files in (100, 20_000) if arguments.quick else arguments.files:
        with TemporaryDirectory(prefix="mpiric-bench-", dir=arguments.directory) as name:
            place, work = Path(name), Path(name) / "work"
            work.mkdir()
            make_tree(work, files)
            for overlay in (True, False):
                try:
                    kind, begin_s, overheads_s = costs(work, place, arguments.trials, overlay=overlay)
                except MpiricError as error:
                    yield {
                        "files": files,
                        "kind": "copy",
                        "begin_s": None,
                        "trial_s": None,
                        "why": error.message,
                    }
                    continue
                later = statistics.median(overheads_s[1:])  # the first one of a copy is a clone
                yield {"files": files, "kind": kind, "begin_s": begin_s, "trial_s": later, "why": ""}


def _measure(arguments: argparse.Namespace) -> Result:
    rows = [
        {key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()}
        for row in _rows(arguments)
    ]
    return Result(COLUMNS, rows, "A trial in an overlay costs the same whatever the number of files.")


def main() -> int:
    """Parse options and run."""
    parser = options("directories", __doc__ or "")
    parser.add_argument("--files", type=int, nargs="+", default=[100, 20_000, 200_000, 1_000_000])
    parser.add_argument("--trials", type=int, default=9)
    parser.add_argument("--directory", help="where the trees are made; the system's temporary directory")
    return run("directories", parser.parse_args(), _measure)


if __name__ == "__main__":
    sys.exit(main())

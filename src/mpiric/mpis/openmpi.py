"""Open MPI; see https://www.open-mpi.org. Version 5 replaced its run-time system by PRRTE."""

import re

from mpiric.mpis._implementation import Installation, Surroundings

TITLE = "Open MPI"
LIBRARIES = ("libmpi.so.40",)
LAUNCHERS = ("mpirun.openmpi", "mpiexec.openmpi", "mpirun", "mpiexec", "orterun")
SYSTEM_LAUNCHERS: dict[str, str] = {}
COMPILERS = {
    "c": ("mpicc.openmpi", "mpicc"),
    "cxx": ("mpic++.openmpi", "mpicxx", "mpic++"),
    "fortran": ("mpifort.openmpi", "mpifort", "mpif90"),
}
INFORMATION = ("ompi_info", "--parsable")
MODULES = r"open-?mpi"

_COMPONENT = re.compile(r"^mca:(btl|mtl|pml|smsc):(\w+):", re.MULTILINE)
_NO_TRANSPORT = {"self", "monitoring", "cm", "ob1", "v", "bfo"}  # built on the others


def recognise(text: str) -> str | None:
    """``Open MPI v4.1.4, package: …``."""
    match = re.match(r"\s*Open MPI v(\d[\w.]*)", text)
    return match[1] if match else None


def recognise_launcher(text: str) -> str | None:
    """``mpirun (OpenRTE) 4.1.4`` up to version 4, ``mpirun (Open MPI) 5.0.11`` from 5 on."""
    match = re.search(r"\((?:OpenRTE|Open MPI)\) v?(\d[\w.]*)", text)
    return match[1] if match else None


def dialect(version: str) -> str:
    """``openmpi5`` where PRRTE starts the ranks."""
    head = version.split(".")[0]
    return "openmpi5" if head.isdigit() and int(head) >= 5 else "openmpi4"


def transports(version_text: str, information: str) -> tuple[str, ...]:  # noqa: ARG001
    """Components for transfer, matching, point-to-point messages and single copies, by ``ompi_info``."""
    names = {name for _, name in _COMPONENT.findall(information)} - _NO_TRANSPORT
    return tuple(sorted(names))


def configured_prefix(information: str) -> str:
    """``path:prefix:/opt/openmpi``."""
    match = re.search(r"^path:prefix:(.*)$", information, re.MULTILINE)
    return match[1].strip() if match else ""


def surroundings(installation: Installation) -> Surroundings:
    """Its library directory, and OPAL_PREFIX where it was moved after it was built.

    A moved Open MPI looks for help texts, MCA defaults and daemons below the prefix compiled in.
    """
    moved = installation.configured_prefix not in {"", installation.prefix}
    return Surroundings(
        environment={"OPAL_PREFIX": installation.prefix} if moved else {},
        library_path=() if installation.system else (installation.library_dir,),
    )

"""HPE Cray MPICH, an MPICH derivative without a launcher of its own; see its man page ``intro_mpi``."""

import re

from mpiric.mpis._implementation import Installation, Surroundings

TITLE = "Cray MPICH"
LIBRARIES = ("libmpi_*.so.12", "libmpi.so.12")
LAUNCHERS: tuple[str, ...] = ()
SYSTEM_LAUNCHERS = {"srun": "srun", "aprun": "aprun", "mpiexec": "pals"}
COMPILERS = {"c": ("mpicc",), "cxx": ("mpicxx",), "fortran": ("mpifort", "mpif90")}
INFORMATION: tuple[str, ...] = ()
MODULES = r"cray-mpich"


def recognise(text: str) -> str | None:
    """``MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)``."""
    match = re.search(r"CRAY MPICH version (\S+)", text)
    return match[1] if match else None


def recognise_launcher(text: str) -> str | None:
    """``mpiexec version 1.2.12`` of the PBS/PALS launcher prints nothing of the library."""
    match = re.search(r"(?:^|\n)(?:mpiexec|aprun) version (\d[\w.]*)", text)
    return match[1] if match else None


def dialect(version: str) -> str:  # noqa: ARG001 the site decides, not the version
    """``srun`` where nothing better is known."""
    return "srun"


def transports(version_text: str, information: str) -> tuple[str, ...]:  # noqa: ARG001
    """The path of the library names its network, which the version text does not."""
    match = re.search(r"/mpich/[\d.]+/(ofi|ucx)/", information)
    return (match[1], "shm") if match else ("shm",)


def configured_prefix(information: str) -> str:  # noqa: ARG001 it has no daemons to find
    """Of no consequence."""
    return ""


def surroundings(installation: Installation) -> Surroundings:
    """Its library directory."""
    return Surroundings(library_path=() if installation.system else (installation.library_dir,))

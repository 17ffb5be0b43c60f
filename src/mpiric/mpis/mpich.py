"""MPICH, of which several vendors' libraries are derivatives; see https://www.mpich.org."""

import re

from mpiric.mpis._implementation import Installation, Surroundings

TITLE = "MPICH"
LIBRARIES = ("libmpich.so.12", "libmpi.so.12")
LAUNCHERS = ("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun")
SYSTEM_LAUNCHERS: dict[str, str] = {}
COMPILERS = {
    "c": ("mpicc.mpich", "mpicc"),
    "cxx": ("mpicxx.mpich", "mpicxx", "mpic++"),
    "fortran": ("mpifort.mpich", "mpifort", "mpif90"),
    "c_abi": ("mpicc_abi",),
    "cxx_abi": ("mpicxx_abi",),
}
INFORMATION: tuple[str, ...] = ()  # MPI_Get_library_version says it all
MODULES = r"mpich"


def recognise(text: str) -> str | None:
    """``MPICH Version:  4.0.2`` heads the text of MPICH itself."""
    match = re.match(r"\s*MPICH Version:\s*(\S+)", text)
    return match[1] if match and "CRAY MPICH" not in text else None


def recognise_launcher(text: str) -> str | None:
    """Hydra introduces itself by its build details, of which the version is MPICH's."""
    match = re.search(r"HYDRA build details:\s*Version:\s*(\S+)", text)
    return match[1] if match else None


def dialect(version: str) -> str:  # noqa: ARG001 one for every version
    """Hydra's."""
    return "hydra"


def transports(version_text: str, information: str) -> tuple[str, ...]:  # noqa: ARG001
    """``MPICH Device: ch4:ucx ofi`` or ``ch3:nemesis``, with ``shm`` on the node for both."""
    match = re.search(r"MPICH Device:\s*(.+)", version_text)
    if not match:
        return ()
    device, _, modules = match[1].strip().partition(":")
    if device == "ch3":
        return ("tcp", "shm")
    return (*re.split(r"[ ,]+", modules), "shm") if modules else ("shm",)


def configured_prefix(information: str) -> str:  # noqa: ARG001 hydra finds its proxy beside itself
    """Of no consequence."""
    return ""


def surroundings(installation: Installation) -> Surroundings:
    """Its library directory, unless the dynamic linker knows it."""
    return Surroundings(library_path=() if installation.system else (installation.library_dir,))

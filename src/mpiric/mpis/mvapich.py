"""MVAPICH 2 and later, an MPICH derivative; see https://mvapich.cse.ohio-state.edu."""

import re

from mpiric.mpis._implementation import Installation, Surroundings

TITLE = "MVAPICH"
LIBRARIES = ("libmpi.so.12",)
LAUNCHERS = ("mpiexec.hydra", "mpiexec", "mpirun")
SYSTEM_LAUNCHERS: dict[str, str] = {}
COMPILERS = {"c": ("mpicc",), "cxx": ("mpicxx", "mpic++"), "fortran": ("mpifort", "mpif90")}
INFORMATION: tuple[str, ...] = ()
MODULES = r"mvapich"


def recognise(text: str) -> str | None:
    """``MVAPICH2 Version : 2.3.7`` up to version 2, ``MVAPICH Version : 3.0`` after it."""
    match = re.search(r"MVAPICH(?:2)?(?:-\w+)? Version\s*:\s*(\S+)", text)
    return match[1] if match else None


def recognise_launcher(text: str) -> str | None:
    """Its hydra prints the version of the MPICH it derives from."""
    match = re.search(r"HYDRA build details:\s*Version:\s*(\S+)", text)
    return match[1] if match else None


def dialect(version: str) -> str:  # noqa: ARG001 one for every version
    """Hydra's."""
    return "hydra"


def transports(version_text: str, information: str) -> tuple[str, ...]:  # noqa: ARG001
    """``Device: ch3:mrail`` is InfiniBand verbs with its own shared memory; ch4 names its netmods."""
    match = re.search(r"MVAPICH2?(?:-\w+)? Device\s*:\s*(\S+)", version_text)
    device, _, modules = (match[1] if match else "").partition(":")
    if device == "ch3":
        return ("verbs" if modules == "mrail" else modules, "shm")
    return (*re.split(r"[ ,]+", modules), "shm") if modules else ()


def configured_prefix(information: str) -> str:  # noqa: ARG001 hydra finds its proxy beside itself
    """Of no consequence."""
    return ""


def surroundings(installation: Installation) -> Surroundings:
    """Its library directory, unless the dynamic linker knows it."""
    return Surroundings(library_path=() if installation.system else (installation.library_dir,))

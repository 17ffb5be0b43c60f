"""Intel MPI Library; see its developer reference at https://www.intel.com."""

import re

from mpiric.mpis._implementation import Installation, Surroundings

TITLE = "Intel MPI"
LIBRARIES = ("libmpi.so.12",)
LAUNCHERS = ("mpiexec.hydra", "mpiexec", "mpirun")
SYSTEM_LAUNCHERS: dict[str, str] = {}
# Those that call GNU's compilers come first: Intel's own need not be installed beside the library.
COMPILERS = {
    "c": ("mpicc", "mpigcc", "mpiicx", "mpiicc"),
    "cxx": ("mpigxx", "mpicxx", "mpiicpx", "mpiicpc"),
    "fortran": ("mpif90", "mpifc", "mpiifx", "mpiifort"),
}
INFORMATION: tuple[str, ...] = ()
MODULES = r"(^|/)(impi|intel-?mpi|intel-oneapi-mpi|oneapi/mpi|mpi/20\d\d)"


def recognise(text: str) -> str | None:
    """``Intel(R) MPI Library 2021.19.0 for Linux* OS``; older ones say ``2019 Update 9``."""
    match = re.search(r"Intel\(R\) MPI Library (?:Version )?(\d[\w.]*(?: Update \d+)?)", text)
    return _dotted(match[1]) if match else None


def recognise_launcher(text: str) -> str | None:
    """``Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929``."""
    match = re.search(r"Intel\(R\) MPI Library for Linux\*? OS, Version (\d[\w. ]*?)(?: Build|$|\n)", text)
    return _dotted(match[1]) if match else None


def dialect(version: str) -> str:  # noqa: ARG001 one for every version
    """Hydra with options of Intel's own."""
    return "intelmpi"


def transports(version_text: str, information: str) -> tuple[str, ...]:  # noqa: ARG001
    """Since 2019 always these two: shared memory and libfabric."""
    return ("ofi", "shm")


def configured_prefix(information: str) -> str:  # noqa: ARG001 I_MPI_ROOT says it at run time
    """Of no consequence."""
    return ""


def surroundings(installation: Installation) -> Surroundings:
    """I_MPI_ROOT, its directories, and a libfabric that is really there.

    Intel's own packages bring one below ``opt/mpi/libfabric``; the wheel of PyPI does not. Without
    any, ranks abort in MPI_Init even on one node.
    """
    environment = {"I_MPI_ROOT": installation.prefix}
    path = [installation.library_dir]
    fabric = installation.libfabric_dirs[0] if installation.libfabric_dirs else ""
    if fabric and fabric != installation.library_dir:
        path.append(fabric)
    if fabric in installation.provider_dirs:
        environment["FI_PROVIDER_PATH"] = f"{fabric}/prov"
    return Surroundings(environment, tuple(path), (f"{installation.prefix}/bin",))


def _dotted(version: str) -> str:
    """Updates of the older releases as a second number."""
    return version.strip().replace(" Update ", ".")

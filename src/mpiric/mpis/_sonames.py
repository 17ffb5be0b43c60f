"""File names of MPI libraries: ABI family of each, and internal parts of Open MPI."""

import re
from functools import lru_cache

from mpiric.model.mpi_library import AbiFamily

_FAMILIES = (
    (r"libmpi_abi\.so\.1", AbiFamily.STANDARD),
    (r"libmpifort_abi\.so\.1", AbiFamily.STANDARD),
    # Names of the MPICH ABI initiative, of Debian, and of Cray (with the compiler).
    (r"libmpi(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi_ilp64\.so\.\d+", AbiFamily.MPICH),  # Intel MPI, in addition to libmpi.so.12
    (r"libmpich(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(f90|fort)?_(cray|gnu|intel|aocc|nvidia|pgi|amd)(_\d+)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(_cxx|_mpifh|_usempi\w*(-gfortran)?|_java)?\.so\.40", AbiFamily.OPENMPI),
)


@lru_cache(maxsize=65536)  # large directories are searched once per implementation
def family_of_soname(soname: str) -> AbiFamily | None:
    """Return the ABI family of programs that need a library of this name; None if it is not MPI."""
    if not soname.startswith("libmpi"):
        return None
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, soname)), None)


def is_inner_part(soname: str) -> bool:
    """Check whether a name belongs to an internal library of Open MPI, which has its own version."""
    return re.fullmatch(r"(libopen-(pal|rte)|liboshmem)\.so\.\d+", soname) is not None

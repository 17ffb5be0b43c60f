"""File names of MPI libraries: the ABI family that each belongs to, and parts of Open MPI."""

import re
from functools import lru_cache

from mpiric.model.mpi_library import AbiFamily

_FAMILIES = (
    (r"libmpi_abi\.so\.1", AbiFamily.STANDARD),
    (r"libmpifort_abi\.so\.1", AbiFamily.STANDARD),
    # The MPICH ABI initiative's names, Debian's, and Cray's with the compiler in them.
    (r"libmpi(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi_ilp64\.so\.\d+", AbiFamily.MPICH),  # Intel MPI's, above its libmpi.so.12
    (r"libmpich(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(f90|fort)?_(cray|gnu|intel|aocc|nvidia|pgi|amd)(_\d+)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(_cxx|_mpifh|_usempi\w*(-gfortran)?|_java)?\.so\.40", AbiFamily.OPENMPI),
)


@lru_cache(maxsize=65536)  # directories of libraries are long, and looked through for each implementation
def family_of_soname(soname: str) -> AbiFamily | None:
    """ABI family a program belongs to that needs a library of this name; None when it is no MPI."""
    if not soname.startswith("libmpi"):
        return None
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, soname)), None)


def is_inner_part(soname: str) -> bool:
    """Return whether it names an internal library of Open MPI, versioned apart from the ABI."""
    return re.fullmatch(r"(libopen-(pal|rte)|liboshmem)\.so\.\d+", soname) is not None

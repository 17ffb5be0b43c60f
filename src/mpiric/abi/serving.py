"""Which MPI libraries can run an executable: those of its ABI family, whatever their name or version.

A program linked to ``libmpi.so.12`` runs under MPICH, Intel MPI and MVAPICH alike; one linked to Debian's
``libmpich.so.12`` finds no library of that name elsewhere, so another has to be put under it by that name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from mpiric.model.mpi_library import AbiFamily, MpiLibrary

_STEMS = ("libmpi", "libmpich", "libmpi_abi", "libmpi_cray", "libmpi_gnu", "libmpi_intel")


class Serving(str, Enum):
    """How a library comes to serve an executable."""

    AS_IT_IS = "as it is"  # by its directory on the loader's path
    BY_NAME = "under another name"  # the same ABI, but the executable asks for another file name


@dataclass(frozen=True)
class Server:
    """One MPI library that can run the executable."""

    library: MpiLibrary
    how: Serving


def mpi_sonames(needed: Iterable[str]) -> tuple[str, ...]:
    """The MPI libraries among the sonames an executable names."""
    return tuple(name for name in needed if name.split(".so")[0] in _STEMS)


def can_serve(family: AbiFamily | None, soname: str, libraries: Sequence[MpiLibrary]) -> tuple[Server, ...]:
    """Libraries that can run an executable of this family which asks for ``soname``."""
    if family is None:
        return ()
    return tuple(
        Server(library, Serving.AS_IT_IS if _offers(library, soname) else Serving.BY_NAME)
        for library in libraries
        if family in library.abi_families
    )


def _offers(library: MpiLibrary, soname: str) -> bool:
    """Whether the families fit: the standard ABI's name comes beside a library's own."""
    if soname.startswith("libmpi_abi"):
        return AbiFamily.STANDARD in library.abi_families
    return not soname or library.soname == soname

"""Which MPI libraries can run an executable: those of its ABI family, and others by translation.

A program linked to ``libmpi.so.12`` runs under MPICH, Intel MPI and MVAPICH alike; one linked to Debian's
``libmpich.so.12`` finds no library of that name elsewhere, so another has to be put under it by that name.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import How, is_native, why_unserved

_STEMS = ("libmpi", "libmpich", "libmpi_abi", "libmpi_cray", "libmpi_gnu", "libmpi_intel")


class Serving(str, Enum):
    """How a library comes to serve an executable."""

    AS_IT_IS = "as it is"  # by its directory on the loader's path
    BY_NAME = "under another name"  # the same ABI, but the executable asks for another file name
    REPAIRED = "repaired"  # its standard ABI has wrong values, which what is put before it sets right
    TRANSLATED = "translated"  # another ABI, with a stand-in for the executable's before it


@dataclass(frozen=True)
class Server:
    """One MPI library that can run the executable."""

    library: MpiLibrary
    how: Serving


def mpi_sonames(needed: Iterable[str]) -> tuple[str, ...]:
    """The MPI libraries among the sonames an executable names."""
    return tuple(name for name in needed if name.split(".so")[0] in _STEMS)


def can_serve(
    family: AbiFamily | None, soname: str, libraries: Sequence[MpiLibrary], names: Collection[str] = ()
) -> tuple[Server, ...]:
    """Libraries that can run an executable of this family asking for ``soname``; translated ones last.

    ``names`` are all MPI libraries that it and its own libraries need.
    """
    if family is None:
        return ()
    native = [
        Server(library, _natively(library, soname))
        for library in libraries
        if is_native(family, library) and not library.stand_in and not why_unserved(library, names)
    ]
    return (*native, *(Server(library, Serving.TRANSLATED) for library in libraries if library.stand_in))


@dataclass(frozen=True)
class MpiRoute:
    """How one library runs an executable, and which of its functions the library does not answer."""

    library: MpiLibrary
    how: How
    lacks: tuple[str, ...] = ()
    why: str = ""  # it does not run it


def route(
    family: AbiFamily, soname: str, library: MpiLibrary, lacks: tuple[str, ...], names: Collection[str]
) -> MpiRoute:
    """The route of one library, made ready to serve an executable that needs libraries of these ``names``."""
    if library.stand_in:
        return MpiRoute(library, How.TRANSLATED, lacks)
    if not is_native(family, library):
        return MpiRoute(library, How.NO, why=library.refused)
    if why := why_unserved(library, names):
        return MpiRoute(library, How.NO, why=why)
    how = {Serving.AS_IT_IS: How.NATIVE, Serving.BY_NAME: How.NAME, Serving.REPAIRED: How.REPAIRED}
    return MpiRoute(library, how[_natively(library, soname)], lacks)


def _natively(library: MpiLibrary, soname: str) -> Serving:
    """How it comes to serve programs of its own family."""
    if library.repair:
        return Serving.REPAIRED
    return Serving.AS_IT_IS if _offers(library, soname) else Serving.BY_NAME


def _offers(library: MpiLibrary, soname: str) -> bool:
    """Whether the families fit: the standard ABI's name comes beside a library's own."""
    if soname.startswith("libmpi_abi"):
        return AbiFamily.STANDARD in library.abi_families
    return not soname or library.soname == soname

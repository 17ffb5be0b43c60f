"""MPI libraries that can run an executable: libraries of its ABI family, and others through a shim.

A program linked to ``libmpi.so.12`` runs under MPICH, Intel MPI and MVAPICH. A program linked to Debian's
``libmpich.so.12`` finds this file name nowhere else, so mpiric provides a library of the same ABI under that
name.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from mpiric.model.dataclass import dataclass
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import How, is_native, why_unserved

_STEMS = ("libmpi", "libmpich", "libmpi_abi", "libmpi_cray", "libmpi_gnu", "libmpi_intel")


class Serving(str, Enum):
    """Way in which a library serves an executable."""

    AS_IT_IS = "as it is"  # its directory is on the search path of the loader
    BY_NAME = "under another name"  # same ABI, but the executable needs another file name
    REPAIRED = "repaired"  # a shim in front of it corrects wrong constants of its standard ABI
    TRANSLATED = "translated"  # another ABI, reached through a shim with the ABI of the executable


@dataclass(frozen=True)
class Server:
    """MPI library that can run the executable."""

    library: MpiLibrary
    how: Serving


def mpi_sonames(needed: Iterable[str]) -> tuple[str, ...]:
    """Return the names of MPI libraries among the sonames that an executable needs."""
    return tuple(name for name in needed if name.split(".so")[0] in _STEMS)


def can_serve(
    family: AbiFamily | None, soname: str, libraries: Sequence[MpiLibrary], names: Collection[str] = ()
) -> tuple[Server, ...]:
    """Return the libraries that can run an executable; libraries that need a shim come last.

    ``family`` is the ABI family of the executable, ``soname`` the MPI library it is linked to, and ``names``
    are all MPI libraries that the executable and its shared libraries need.
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
    """Way in which one library runs an executable, and the MPI functions that the library lacks."""

    library: MpiLibrary
    how: How
    lacks: tuple[str, ...] = ()
    why: str = ""  # reason if the library cannot run the executable


def route(
    family: AbiFamily, soname: str, library: MpiLibrary, lacks: tuple[str, ...], names: Collection[str]
) -> MpiRoute:
    """Return the route through one library for an executable that needs the libraries in ``names``."""
    if library.stand_in:
        return MpiRoute(library, How.TRANSLATED, lacks)
    if not is_native(family, library):
        return MpiRoute(library, How.NO, why=library.refused)
    if why := why_unserved(library, names):
        return MpiRoute(library, How.NO, why=why)
    how = {Serving.AS_IT_IS: How.NATIVE, Serving.BY_NAME: How.NAME, Serving.REPAIRED: How.REPAIRED}
    return MpiRoute(library, how[_natively(library, soname)], lacks)


def _natively(library: MpiLibrary, soname: str) -> Serving:
    """Return the way in which a library serves programs of its own ABI family."""
    if library.repair:
        return Serving.REPAIRED
    return Serving.AS_IT_IS if _offers(library, soname) else Serving.BY_NAME


def _offers(library: MpiLibrary, soname: str) -> bool:
    """Return whether a library provides ``soname`` itself, perhaps as its library of the standard ABI."""
    if soname.startswith("libmpi_abi"):
        return AbiFamily.STANDARD in library.abi_families
    return not soname or library.soname == soname


SHARED_MEMORY = "shared memory"
_LOOPBACK = "lo"  # under MPICH 5, UCX assigns it an address that no peer can reach


@dataclass(frozen=True)
class NetworkRoute:
    """A route between ranks: its displayed name, and the interface it uses ("" for shared memory)."""

    name: str
    interface: str = ""

    def environment(self, library: MpiLibrary) -> Mapping[str, str] | None:
        """Return the variables that keep a library on this network, None if no way is known."""
        if not self.interface:
            return MappingProxyType({})
        template, transports = library.capabilities.tcp_only, library.transports
        if not template:
            return None
        by_ucx = transports[:1] == ("ucx",) and not (self.interface == _LOOPBACK and "ofi" in transports)
        netmod = "ucx" if by_ucx else "ofi"
        return {
            name: value.format(interface=self.interface, netmod=netmod) for name, value in template.items()
        }


def networks_of(interfaces: Iterable[str]) -> tuple[NetworkRoute, ...]:
    """Return the route over shared memory, then a TCP route over each interface."""
    return (NetworkRoute(SHARED_MEMORY), *(NetworkRoute(f"tcp {name}", name) for name in interfaces))

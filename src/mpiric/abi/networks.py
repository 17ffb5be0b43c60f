"""Environment variables that keep a run on one network, for each MPI library.

Within a node, libraries use shared memory by default. To test a network interface on one node, the variables
disable shared memory, so that messages between ranks of the node really pass the interface.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mpiric.model.mpi_library import MpiLibrary

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

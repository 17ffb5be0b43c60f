"""Keeping a run on one network: what each MPI library is given in its environment.

Shared memory is what a library takes by itself on one node. For a network interface, traffic is made to leave
shared memory even between ranks of one node, so that the transport is really used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mpiric.model.mpi_library import MpiLibrary

SHARED_MEMORY = "shared memory"
_LOOPBACK = "lo"  # UCX gives it an address that no peer can reach, under MPICH 5


@dataclass(frozen=True)
class NetworkRoute:
    """A route between ranks: its name as shown, and the interface it uses ("" for shared memory)."""

    name: str
    interface: str = ""

    def environment(self, library: MpiLibrary) -> Mapping[str, str] | None:
        """Variables that keep a library on this network, None when it is not known how."""
        if not self.interface:
            return MappingProxyType({})
        template, offered = library.capabilities.tcp_only, library.transports
        if not template:
            return None
        by_ucx = offered[:1] == ("ucx",) and not (self.interface == _LOOPBACK and "ofi" in offered)
        netmod = "ucx" if by_ucx else "ofi"
        return {
            name: value.format(interface=self.interface, netmod=netmod) for name, value in template.items()
        }


def networks_of(interfaces: Iterable[str]) -> tuple[NetworkRoute, ...]:
    """Shared memory first, then TCP over each interface."""
    return (NetworkRoute(SHARED_MEMORY), *(NetworkRoute(f"tcp {name}", name) for name in interfaces))

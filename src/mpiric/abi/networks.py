"""Keeping a run on one network: what each MPI library is told, in its environment.

Shared memory is what a library takes by itself on one node. For a network interface, traffic is made to leave
shared memory even between ranks of one node, so that the transport is really used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

SHARED_MEMORY = "shared memory"
_LOOPBACK = "lo"  # UCX gives it an address that no peer can reach, under MPICH 5
_TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "mpich": {
        "MPIR_CVAR_NOLOCAL": "1",
        "MPIR_CVAR_CH4_NETMOD": "{netmod}",
        "FI_PROVIDER": "sockets,tcp",
        "FI_TCP_IFACE": "{interface}",
        "FI_SOCKETS_IFACE": "{interface}",
        "UCX_NET_DEVICES": "{interface}",
        "UCX_TLS": "tcp,self",
    },
    "mvapich": {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "{interface}"},
    "openmpi": {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,tcp",
        "OMPI_MCA_btl_tcp_if_include": "{interface}",
    },
    "intelmpi": {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "{interface}"},
}


@dataclass(frozen=True)
class Network:
    """A way between ranks: its name as shown, and the interface it uses ("" for shared memory)."""

    name: str
    interface: str = ""

    def environment(self, implementation: str, transports: Iterable[str] = ()) -> Mapping[str, str] | None:
        """Variables that keep a library on this network, None when it is not known how."""
        if not self.interface:
            return MappingProxyType({})
        template = _TEMPLATES.get(implementation)
        if template is None:
            return None
        offered = tuple(transports)
        by_ucx = offered[:1] == ("ucx",) and not (self.interface == _LOOPBACK and "ofi" in offered)
        netmod = "ucx" if by_ucx else "ofi"
        return {
            name: value.format(interface=self.interface, netmod=netmod) for name, value in template.items()
        }


def networks_of(interfaces: Iterable[str]) -> tuple[Network, ...]:
    """Shared memory first, then TCP over each interface."""
    return (Network(SHARED_MEMORY), *(Network(f"tcp {name}", name) for name in interfaces))

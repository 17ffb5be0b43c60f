"""Variables of UCX and libfabric, which all MPI implementations share."""

from collections.abc import Mapping

from mpiric.model.job import Spelling
from mpiric.model.knob import Spell, word
from mpiric.model.machine import IP_KINDS
from mpiric.model.situation import Situation

UCX_ON_NODE = ("all", "sm", "shm", "mm", "posix", "sysv")  # shared-memory transports

_UCX_TRANSPORTS = {
    "all": "all",
    "node": "self,sm",
    "tcp": "self,sm,tcp",
    "rc": "self,sm,rc",
    "dc": "self,sm,dc",
    "ud": "self,sm,ud",
}

# The layered providers that carry MPI's tagged messages over the named core provider.
_OFI_PROVIDERS = {"tcp": "tcp", "verbs": "verbs;ofi_rxm"}

# Largest message sent without a handshake, in UCX and in libfabric's rxm layer, which posts receive buffers
# of this size: memory grows with it and with the number of peers.
NETWORK_EAGER = ("UCX_RNDV_THRESH", "FI_OFI_RXM_BUFFER_SIZE")


def ofi_provider(value: str, _situation: Situation) -> Spelling:
    """Set a provider; lnx joins shared memory with the adapters of Slingshot."""
    links = {"FI_LNX_PROV_LINKS": "shm+cxi"} if value == "lnx" else {}
    return Spelling(environment={"FI_PROVIDER": _OFI_PROVIDERS.get(value, value), **links})


# Knobs of UCX and libfabric themselves, independent of the MPI library.
SPELLERS: Mapping[str, Spell] = {
    "ofi-provider": ofi_provider,
    "ucx-transports": word("UCX_TLS", _UCX_TRANSPORTS),
}


def network_interface(value: str, situation: Situation) -> Spelling:
    """Return variables that restrict UCX and libfabric to one interface; UCX names ports as ``mlx5_0:1``."""
    kind = next((nic.kind for nic in situation.machine.nics if nic.name == value), "")
    if kind and kind not in IP_KINDS:
        return Spelling(environment={"UCX_NET_DEVICES": f"{value}:1"})
    return Spelling(environment=dict.fromkeys(("UCX_NET_DEVICES", "FI_TCP_IFACE", "FI_SOCKETS_IFACE"), value))

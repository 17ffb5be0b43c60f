"""UCX and libfabric: their variables are the same under every MPI implementation."""

from collections.abc import Mapping

from mpiric.model.knob import parse_bytes
from mpiric.model.machine import IP_KINDS
from mpiric.model.spelling import Spelling
from mpiric.mpis._implementation import Speller

# Tag matching in the adapter: ConnectX-5 and later, reliable transports only.
_HARDWARE_MATCHING = {"UCX_RC_MLX5_TM_ENABLE": "y", "UCX_DC_MLX5_TM_ENABLE": "y"}

UCX_ON_NODE = ("all", "sm", "shm", "mm", "posix", "sysv")  # transports through shared memory

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


def ucx_transports(value: str) -> Spelling:
    """Which of its transports UCX may use."""
    return Spelling(environment={"UCX_TLS": _UCX_TRANSPORTS[value]})


def ucx_zero_copy(value: str) -> Spelling:
    """Size from which UCX sends from the program's buffer instead of a copy."""
    return Spelling(environment={"UCX_ZCOPY_THRESH": str(parse_bytes(value))})


def ucx_hardware_matching() -> Spelling:
    """Let the adapter match messages to receives."""
    return Spelling(environment=_HARDWARE_MATCHING)


def ofi_provider(value: str) -> Spelling:
    """Which of its providers libfabric offers to the MPI library."""
    return Spelling(environment={"FI_PROVIDER": _OFI_PROVIDERS.get(value, value)})


def interface(name: str, kind: str) -> dict[str, str]:
    """Variables that keep UCX and libfabric on one interface; UCX names an adapter's port ``mlx5_0:1``."""
    if not kind or kind in IP_KINDS:
        return {"UCX_NET_DEVICES": name, "FI_TCP_IFACE": name, "FI_SOCKETS_IFACE": name}
    return {"UCX_NET_DEVICES": f"{name}:1"}


def spellers() -> Mapping[str, Speller]:
    """Knobs that belong to UCX and libfabric themselves, under whichever library loads them."""
    return {
        "ofi-provider": lambda value, _: ofi_provider(value),
        "ucx-transports": lambda value, _: ucx_transports(value),
        "zero-copy": lambda value, _: ucx_zero_copy(value),
        "matching": lambda value, _: ucx_hardware_matching() if value == "hardware" else None,
    }


def network_eager(value: str) -> dict[str, str]:
    """Size up to which a message leaves without asking the receiver, in UCX and in libfabric's rxm layer.

    The rxm layer posts its receive buffers in this size: memory grows with it and with the peers.
    """
    size = str(parse_bytes(value))
    return {"UCX_RNDV_THRESH": size, "FI_OFI_RXM_BUFFER_SIZE": size}

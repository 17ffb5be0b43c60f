"""MPICH's ch4 device: control variables shared by MPICH and the libraries built from it.

Every ``MPIR_CVAR_X`` is read from the environment of the ranks when MPI starts; unknown ones are ignored.
"""

import re
from collections.abc import Mapping

from mpiric.model.capabilities import NodeSetting
from mpiric.model.knob import parse_bytes
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis import _fabrics
from mpiric.mpis._implementation import Speller

_NODE_COLLECTIVES = ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
_MESSAGES = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir" for name in _NODE_COLLECTIVES}
_SHARED = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "release_gather" for name in _NODE_COLLECTIVES}
_AUTOMATIC = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "auto" for name in _NODE_COLLECTIVES}
_PACK_BUFFERS = {
    "newer": ("MPIR_CVAR_CH4_PACK_BUFFER_SIZE", 16384),
    "older": ("MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE", 69632),
}
CELLS = 64  # of a rank, unless `node-buffers` sets another number
NODE_BUFFERS = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS"
NO_LOCAL = NodeSetting("MPIR_CVAR_NOLOCAL")
WAITING_SWITCHES = ("MPIR_CVAR_CH4_PROGRESS_THROTTLE",)


def recognise_hydra(text: str) -> str | None:
    """The version in hydra's build details, which is that of the MPICH it came with."""
    match = re.search(r"HYDRA build details:\s*Version:\s*(\S+)", text)
    return match[1] if match else None


def waiting(value: str, newer: bool) -> Spelling | None:  # noqa: FBT001
    """The shared-memory collectives spin without ever yielding: those made of messages come along."""
    if value == "spin":
        return Spelling(environment=_AUTOMATIC)
    if value == "yield":
        return Spelling(environment={**_MESSAGES, "MPIR_CVAR_POLLS_BEFORE_YIELD": "10"})
    if not newer:
        return None
    throttled = {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    }
    return Spelling(environment={**_MESSAGES, **throttled})


def node_transport(value: str) -> Spelling | None:
    """Undo what keeps ranks of one node from meeting in shared memory."""
    if value != "shared-memory":
        return None
    return Spelling(environment={"MPIR_CVAR_NOLOCAL": "0"}, unset=("UCX_TLS", "MPICH_NOLOCAL"))


def single_copy(value: str, newer: bool) -> Spelling | None:  # noqa: FBT001
    """CMA came with version 4.3, XPMEM is older."""
    switches = {"XPMEM": "1" if value == "xpmem" else "0"}
    if newer:
        switches["CMA"] = "1" if value == "cma" else "0"
    elif value == "cma":
        return None
    if value in ("knem", "emulated"):
        return None
    return Spelling(environment={f"MPIR_CVAR_CH4_{name}_ENABLE": switch for name, switch in switches.items()})


def single_copy_threshold(value: str, newer: bool) -> Spelling:  # noqa: FBT001
    """Size from which the receiver copies straight out of the sender's memory."""
    size = str(parse_bytes(value))
    mechanisms = ("CMA", "XPMEM") if newer else ("XPMEM",)
    return Spelling(environment={f"MPIR_CVAR_CH4_IPC_{name}_P2P_THRESHOLD": size for name in mechanisms})


def eager_node(value: str, newer: bool) -> Spelling:  # noqa: FBT001
    """A message that fits a cell goes in one piece; one page more keeps cells from sharing cache sets.

    Buffers for packing must hold a cell, or 5.0 stops at the start. How many cells there are is the knob
    ``node-buffers``, which large cells bring along.
    """
    cell = parse_bytes(value) + 4096
    pack, default = _PACK_BUFFERS["newer" if newer else "older"]
    return Spelling(
        environment={
            "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": str(cell),
            pack: str(max(cell, default)),
        },
        note=f"each rank keeps {CELLS * cell >> 20} MiB of shared memory for messages, or less",
    )


def eager_network(value: str, newer: bool) -> Spelling:  # noqa: FBT001
    """MPICH's own limit over libfabric, and those of the layers below."""
    own = "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD" if newer else "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE"
    return Spelling(environment={own: str(parse_bytes(value)), **_fabrics.network_eager(value)})


def collectives(value: str) -> Spelling | None:
    """Collectives on a node through shared buffers, or made of messages."""
    variables = {"shared-memory": _SHARED, "messages": _MESSAGES}.get(value)
    return Spelling(environment=variables) if variables else None


def matching(value: str) -> Spelling | None:
    """Matching by libfabric's tagged interface, by active messages in MPICH, or by the adapter."""
    if value == "hardware":
        return _fabrics.ucx_hardware_matching()
    switch = {"provider": "1", "library": "0"}.get(value)
    return Spelling(environment={"MPIR_CVAR_CH4_OFI_ENABLE_TAGGED": switch}) if switch else None


def network_interface(value: str, situation: Situation) -> Spelling:
    """MPICH has no setting of its own: the layers below choose."""
    kinds = {nic.name: nic.kind for nic in situation.machine.nics}
    return Spelling(environment=_fabrics.interface(value, kinds.get(value, "")))


def network_library(value: str) -> Spelling | None:
    """Which network module carries messages between nodes, where several are compiled in."""
    return Spelling(environment={"MPIR_CVAR_CH4_NETMOD": value}) if value in ("ofi", "ucx") else None


def spellers(newer: bool) -> Mapping[str, Speller]:  # noqa: FBT001
    """Knob → how ch4 writes it; ``newer`` stands for version 4.3 and later."""
    return {
        **_fabrics.spellers(),
        "waiting": lambda value, _: waiting(value, newer),
        "node-transport": lambda value, _: node_transport(value),
        "network-library": lambda value, _: network_library(value),
        "single-copy": lambda value, _: single_copy(value, newer),
        "single-copy-threshold": lambda value, _: single_copy_threshold(value, newer),
        "gpu-buffers": lambda _value, _: Spelling(environment={"MPIR_CVAR_ENABLE_GPU": "0"}),
        "network-interface": network_interface,
        "eager-node": lambda value, _: eager_node(value, newer),
        "eager-network": lambda value, _: eager_network(value, newer),
        "node-buffers": lambda value, _: Spelling(environment={NODE_BUFFERS: value}),
        "matching": lambda value, _: matching(value),
        "collective-component": lambda value, _: collectives(value),
    }

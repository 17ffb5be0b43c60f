"""Control variables of MPICH's ch4 device, shared by MPICH and the libraries derived from it.

MPI_Init reads every ``MPIR_CVAR_X`` from the environment of the ranks; unknown ones are ignored.
"""

from collections.abc import Mapping

from mpiric.model.amount import version_by
from mpiric.model.job import Spelling
from mpiric.model.knob import Spell, by_value, in_bytes, parse_bytes, plain, word
from mpiric.model.mpi_library import NodeSetting
from mpiric.model.situation import Situation
from mpiric.mpis import _fabrics
from mpiric.mpis._file_hints import by_hint_file, hint_speller

CELLS = 64  # cells per rank, unless `node-buffers` sets another number
NODE_BUFFERS = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS"
NO_LOCAL = NodeSetting("MPIR_CVAR_NOLOCAL")
WAITING_SWITCHES = ("MPIR_CVAR_CH4_PROGRESS_THROTTLE",)

# Version in hydra's build details, which equals the version of its MPICH.
recognise_hydra = version_by(r"HYDRA build details:\s*Version:\s*(\S+)")


def _on_node(algorithm: str) -> dict[str, str]:
    collectives = ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    return {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": algorithm for name in collectives}


# Collectives that use shared memory directly if all ranks are on one node.
WITHOUT_MESSAGES = {
    name.lower(): f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM"
    for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
}

_MESSAGES, _SHARED = _on_node("mpir"), _on_node("release_gather")
# The shared-memory collectives spin without yielding, so they are replaced by messages.
_WAITING = {"spin": _on_node("auto"), "yield": {**_MESSAGES, "MPIR_CVAR_POLLS_BEFORE_YIELD": "10"}}
_SLEEP = {
    **_MESSAGES,
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
}
# Unset what prevents ranks of a node from using shared memory.
_NODE_TRANSPORT = {
    "shared-memory": Spelling(environment={"MPIR_CVAR_NOLOCAL": "0"}, unset=("UCX_TLS", "MPICH_NOLOCAL"))
}


# Mechanisms: libfabric's tagged interface, active messages in MPICH, the adapter.
def _single_copy(mechanisms: tuple[str, ...]) -> Spell:
    """Return the speller that enables one mechanism or none."""

    def switches(chosen: str) -> dict[str, str]:
        return {f"MPIR_CVAR_CH4_{name}_ENABLE": str(int(name == chosen)) for name in mechanisms}

    return by_value({name.lower(): switches(name) for name in (*mechanisms, "NONE")})


def _eager_node(value: str, pack_buffer: str, default: int) -> Spelling:
    """Set the cell size: messages that fit a cell are sent at once. An extra page avoids sharing cache sets.

    Pack buffers must hold a cell, otherwise 5.0 aborts at start. The number of cells is the knob
    ``node-buffers``.
    """
    cell = parse_bytes(value) + 4096
    return Spelling(
        environment={
            "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": str(cell),
            pack_buffer: str(max(cell, default)),
        },
        note=f"each rank keeps {CELLS * cell >> 20} MiB of shared memory for messages, or less",
    )


def _node_transport(value: str, situation: Situation) -> Spelling | None:
    """Restrict UCX to shared memory; by default it opens all networks at start, even for one node.

    Measured with 5.0.2 and two ranks: MPI_Init and MPI_Finalize take 0.65 s instead of 0.98 s.
    """
    if value != "shared-memory-only":
        return _NODE_TRANSPORT.get(value)
    if situation.nodes > 1 or not situation.mpi.capabilities.has_node_only_transport:
        return None
    return Spelling(environment={"UCX_TLS": "self,sm"}, note="for jobs on one node only")


def spellers(newer: bool) -> Mapping[str, Spell]:  # noqa: FBT001
    """Return the spellers of the knobs; ``newer`` means version 4.3 or later, which supports CMA."""
    copies = ("XPMEM", "CMA") if newer else ("XPMEM",)
    eager = "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD" if newer else "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE"
    pack, default = ("PACK_BUFFER_SIZE", 16384) if newer else ("AM_PACK_BUFFER_SIZE", 69632)
    return {
        **_fabrics.SPELLERS,
        "waiting": by_value({**_WAITING, "sleep": _SLEEP} if newer else _WAITING),
        "async-progress": word("MPIR_CVAR_ASYNC_PROGRESS", {"on": "1"}),
        "node-transport": _node_transport,
        "network-library": word("MPIR_CVAR_CH4_NETMOD", {"ofi": "ofi", "ucx": "ucx"}),
        "single-copy": _single_copy(copies),
        "single-copy-threshold": in_bytes(*(f"MPIR_CVAR_CH4_IPC_{name}_P2P_THRESHOLD" for name in copies)),
        "mpi-io": hint_speller(by_hint_file),
        "network-interface": _fabrics.network_interface,
        "eager-node": lambda value, _: _eager_node(value, f"MPIR_CVAR_CH4_{pack}", default),
        "eager-network": in_bytes(eager, *_fabrics.NETWORK_EAGER),
        "node-buffers": plain(NODE_BUFFERS),
        "collective-component": by_value({"shared-memory": _SHARED, "messages": _MESSAGES}),
    }

"""Settings of Intel MPI for the knobs (2019 and later: over libfabric only)."""

from collections.abc import Mapping
from dataclasses import replace

from mpiric.model.file_rules import parse_hints
from mpiric.model.knob import Spell, by_value, in_bytes, parse_bytes, plain, word
from mpiric.model.launch import Spelling
from mpiric.model.situation import Situation
from mpiric.mpis import _fabrics
from mpiric.mpis._file_hints import by_hint_file, hint_speller

_CELLS_BYTES = 64 << 20  # limit of shared memory for cells per node
_CELL_NUMBERS = ("I_MPI_SHM_CELL_FWD_NUM", "I_MPI_SHM_CELL_BWD_NUM")
_WAITING = {
    "spin": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "0"},
    "yield": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "0"},
    "sleep": {"I_MPI_WAIT_MODE": "1"},
}
_SINGLE_COPY = {
    "cma": {"I_MPI_SHM_CMA": "1", "I_MPI_SHM_XPMEM": "0"},
    "xpmem": {"I_MPI_SHM_CMA": "0", "I_MPI_SHM_XPMEM": "1"},
    "none": {"I_MPI_SHM_CMA": "0", "I_MPI_SHM_XPMEM": "0"},
}


def _node_transport(value: str, situation: Situation) -> Spelling | None:
    if value == "shared-memory":
        return Spelling(environment={"I_MPI_FABRICS": "shm:ofi"}, unset=("I_MPI_SHM", "MPIR_CVAR_NOLOCAL"))
    if situation.nodes > 1:
        return None
    return Spelling(
        environment={"I_MPI_FABRICS": "shm"}, unset=("I_MPI_SHM",), note="for jobs on one node only"
    )


def _eager_node(value: str, situation: Situation) -> Spelling:
    """Set the cell size of both directions; there are fewer cells if they are large."""
    size = parse_bytes(value)
    ranks = max(1, len(situation.observation.ranks) or situation.job.ranks or 1)
    count = str(max(4, min(32, _CELLS_BYTES // ranks // (2 * size))))
    cells = {f"I_MPI_SHM_CELL_{direction}_SIZE": str(size) for direction in ("FWD", "BWD")}
    return Spelling(environment={**cells, **dict.fromkeys(_CELL_NUMBERS, count)})


def _ofi_provider(value: str, _situation: Situation) -> Spelling:
    """Set Intel's variable, which precedes libfabric's and takes the provider name without layers."""
    return Spelling(environment={"I_MPI_OFI_PROVIDER": value}, unset=("FI_PROVIDER",))


def _hints(value: str, situation: Situation) -> Spelling | None:
    """Use the native file-system driver if ranks write independently: the NFS driver loses data."""
    spelling = _all_hints(value, situation)
    alone = any(rule.each_alone for rule in parse_hints(value))
    if spelling is None or not alone or _DRIVERS in {**situation.inherited, **situation.job.environment}:
        return spelling
    return replace(spelling, environment={**spelling.environment, _DRIVERS: "1"})


_all_hints = hint_speller(by_hint_file)
_DRIVERS = "I_MPI_FILESYSTEM"

SPELLERS: Mapping[str, Spell] = {
    **_fabrics.SPELLERS,
    "waiting": by_value(_WAITING),
    "node-transport": _node_transport,
    "single-copy": by_value(_SINGLE_COPY),
    "single-copy-threshold": in_bytes("I_MPI_SHM_CMA_THRESHOLD"),
    "network-interface": _fabrics.network_interface,
    "ofi-provider": _ofi_provider,
    "eager-node": _eager_node,
    "eager-network": in_bytes(*_fabrics.NETWORK_EAGER),
    "node-buffers": plain(*_CELL_NUMBERS),
    "mpi-io": _hints,
    "mpi-io-driver": word(_DRIVERS, {"native": "1"}),
    "memory-copy": word("I_MPI_SHM", {"sse": "skx_sse", "avx2": "skx_avx2", "avx512": "skx_avx512"}),
    "collective-component": word("I_MPI_COLL_INTRANODE", {"shared-memory": "shm", "messages": "pt2pt"}),
}

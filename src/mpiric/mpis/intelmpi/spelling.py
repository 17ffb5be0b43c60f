"""Settings of Intel MPI for the knobs (2019 and later: over libfabric only)."""

from collections.abc import Mapping

from mpiric.model.knob import parse_bytes
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis import _fabrics
from mpiric.mpis._implementation import Speller

_SHM = {"sse": "skx_sse", "avx2": "skx_avx2", "avx512": "skx_avx512"}
_CELLS_BYTES = 64 << 20  # of shared memory a node spends on cells, at most


def _waiting(value: str, _situation: Situation) -> Spelling:
    variables = {
        "spin": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "0"},
        "yield": {"I_MPI_WAIT_MODE": "0", "I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "0"},
        "sleep": {"I_MPI_WAIT_MODE": "1"},
    }
    return Spelling(environment=variables[value])


def _node_transport(value: str, situation: Situation) -> Spelling | None:
    if value == "shared-memory":
        return Spelling(environment={"I_MPI_FABRICS": "shm:ofi"}, unset=("I_MPI_SHM", "MPIR_CVAR_NOLOCAL"))
    if situation.nodes > 1:
        return None
    return Spelling(
        environment={"I_MPI_FABRICS": "shm"}, unset=("I_MPI_SHM",), note="for jobs on one node only"
    )


def _single_copy(value: str, _situation: Situation) -> Spelling | None:
    if value not in ("cma", "xpmem", "none"):
        return None
    return Spelling(
        environment={
            "I_MPI_SHM_CMA": "1" if value == "cma" else "0",
            "I_MPI_SHM_XPMEM": "1" if value == "xpmem" else "0",
        }
    )


def _network_interface(value: str, situation: Situation) -> Spelling:
    kinds = {nic.name: nic.kind for nic in situation.machine.nics}
    return Spelling(environment=_fabrics.interface(value, kinds.get(value, "")))


def _eager_node(value: str, situation: Situation) -> Spelling:
    """A message that fits a cell goes in one piece; cells in both directions, fewer when they are large."""
    size = parse_bytes(value)
    ranks = max(1, len(situation.observation.ranks) or situation.job.ranks or 1)
    count = str(max(4, min(32, _CELLS_BYTES // ranks // (2 * size))))
    cells = {f"I_MPI_SHM_CELL_{direction}_SIZE": str(size) for direction in ("FWD", "BWD")}
    return Spelling(environment={**cells, "I_MPI_SHM_CELL_FWD_NUM": count, "I_MPI_SHM_CELL_BWD_NUM": count})


def _node_buffers(value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"I_MPI_SHM_CELL_FWD_NUM": value, "I_MPI_SHM_CELL_BWD_NUM": value})


def _single_copy_threshold(value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"I_MPI_SHM_CMA_THRESHOLD": str(parse_bytes(value))})


def _memory_copy(value: str, _situation: Situation) -> Spelling | None:
    return Spelling(environment={"I_MPI_SHM": _SHM[value]}) if value in _SHM else None


def _ofi_provider(value: str, _situation: Situation) -> Spelling:
    """Intel's own variable wins over libfabric's, and takes the name without layers."""
    return Spelling(environment={"I_MPI_OFI_PROVIDER": value}, unset=("FI_PROVIDER",))


def _collectives(value: str, _situation: Situation) -> Spelling | None:
    word = {"shared-memory": "shm", "messages": "pt2pt"}.get(value)
    return Spelling(environment={"I_MPI_COLL_INTRANODE": word}) if word else None


SPELLERS: Mapping[str, Speller] = {
    **_fabrics.spellers(),
    "waiting": _waiting,
    "node-transport": _node_transport,
    "single-copy": _single_copy,
    "single-copy-threshold": _single_copy_threshold,
    "network-interface": _network_interface,
    "ofi-provider": _ofi_provider,
    "eager-node": _eager_node,
    "eager-network": lambda value, _: Spelling(environment=_fabrics.network_eager(value)),
    "node-buffers": _node_buffers,
    "memory-copy": _memory_copy,
    "collective-component": _collectives,
}

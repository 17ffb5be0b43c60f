"""How Cray MPICH spells the knobs.

Transcribed from its manual page intro_mpi(3); not seen on a machine here. It is built on MPICH's ch4 but
documents only variables of its own.
"""

from collections.abc import Callable

from mpiric.model.knob import parse_bytes
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis._spelling import _candidates, _fabrics


def _single_copy(value: str, _situation: Situation) -> Spelling | None:
    mode = {"xpmem": "XPMEM", "cma": "CMA", "none": "NONE"}.get(value)
    return Spelling(environment={"MPICH_SMP_SINGLE_COPY_MODE": mode}) if mode else None


def _collectives(value: str, _situation: Situation) -> Spelling | None:
    switch = {"shared-memory": "1", "messages": "0"}.get(value)
    return Spelling(environment={"MPICH_SHARED_MEM_COLL_OPT": switch}) if switch else None


def _single_copy_threshold(value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"MPICH_SMP_SINGLE_COPY_SIZE": str(parse_bytes(value))})


def _eager_network(value: str, _situation: Situation) -> Spelling:
    """The cxi provider of libfabric has the limit: matching in the adapter up to it, rendezvous above."""
    return Spelling(environment={"FI_CXI_RDZV_THRESHOLD": str(parse_bytes(value))})


def _matching(value: str, _situation: Situation) -> Spelling | None:
    mode = {"hardware": "hardware", "library": "software", "provider": "hybrid"}.get(value)
    return Spelling(environment={"FI_CXI_RX_MATCH_MODE": mode}) if mode else None


def _gpu_buffers(_value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"MPICH_GPU_SUPPORT_ENABLED": "0"})


def _collective_io(value: str, _situation: Situation) -> Spelling | None:
    switch = {"buffered": "enable", "individual": "disable"}.get(value)
    hints = f"*:romio_cb_write={switch}:romio_cb_read={switch}"
    return Spelling(environment={"MPICH_MPIIO_HINTS": hints}) if switch else None


_SPELLERS: dict[str, Callable[[str, Situation], Spelling | None]] = {
    **_fabrics.spellers(),
    "single-copy": _single_copy,
    "single-copy-threshold": _single_copy_threshold,
    "collective-component": _collectives,
    "eager-network": _eager_network,
    "matching": _matching,
    "gpu-buffers": _gpu_buffers,
    "collective-io": _collective_io,
}


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """How Cray MPICH writes ``knob=value``; None when it cannot say it."""
    speller = _SPELLERS.get(knob)
    return speller(value, situation) if speller else _candidates.spell("craympich", knob, value, situation)

"""How MVAPICH spells the knobs: version 2 has variables of its own, from 3 on it is MPICH's ch4.

Transcribed from the MVAPICH2 User Guide ("MVAPICH2 Parameters"); not seen on a machine here.
"""

from collections.abc import Callable

from mpiric.model.knob import parse_bytes
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis._spelling import _candidates, _ch4, _fabrics


def _waiting(value: str, _situation: Situation) -> Spelling:
    """Blocking gives the CPU away; affinity would keep ranks on a CPU others sit on."""
    blocking = "0" if value == "spin" else "1"
    return Spelling(environment={"MV2_USE_BLOCKING": blocking})


def _single_copy(value: str, _situation: Situation) -> Spelling | None:
    switch = {"cma": "1", "none": "0"}.get(value)
    return Spelling(environment={"MV2_SMP_USE_CMA": switch}) if switch else None


def _collectives(value: str, _situation: Situation) -> Spelling | None:
    switch = {"shared-memory": "1", "messages": "0"}.get(value)
    return Spelling(environment={"MV2_USE_SHMEM_COLL": switch}) if switch else None


def _eager_node(value: str, _situation: Situation) -> Spelling:
    """The queue between two ranks of a node must hold several messages of the eager size."""
    size = parse_bytes(value)
    return Spelling(environment={"MV2_SMP_EAGERSIZE": str(size), "MV2_SMPI_LENGTH_QUEUE": str(4 * size)})


def _eager_network(value: str, _situation: Situation) -> Spelling:
    """The buffers that carry eager messages must hold the largest of them."""
    size = str(parse_bytes(value))
    return Spelling(environment={"MV2_IBA_EAGER_THRESHOLD": size, "MV2_VBUF_TOTAL_SIZE": size})


def _network_interface(value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"MV2_IBA_HCA": value})


_SPELLERS: dict[str, Callable[[str, Situation], Spelling | None]] = {
    **_fabrics.spellers(),
    "waiting": _waiting,
    "single-copy": _single_copy,
    "collective-component": _collectives,
    "eager-node": _eager_node,
    "eager-network": _eager_network,
    "network-interface": _network_interface,
}


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """How MVAPICH writes ``knob=value``; None when it cannot say it."""
    spellers = _SPELLERS if situation.mpi.major < 3 else _ch4.spellers(newer=False)
    speller = spellers.get(knob)
    return speller(value, situation) if speller else _candidates.spell("mvapich", knob, value, situation)

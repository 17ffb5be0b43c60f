"""Who carries the messages of a job: what library, settings and loaded components leave possible."""

from mpiric.knobs._shared_memory import shared_memory_is_off
from mpiric.model.behaviour import Carriers
from mpiric.model.situation import Situation

_EVERYWHERE = frozenset({"node", "network"})
_COMPONENT = "mca_pml_"  # components that are files: those not chosen are closed again


def carriers(situation: Situation, transport: str) -> Carriers:
    """``transport`` is what the library itself has reported of its layers, "" where it reports nothing."""
    return Carriers(transport, _through_ucx(situation, transport.split()), _without_messages(situation))


def _through_ucx(situation: Situation, reported: list[str]) -> frozenset[str]:
    """Reaches that UCX may carry; what is not known may be so."""
    if not situation.uses_ucx:
        return frozenset()
    if reported:
        if {"ucx", "uct"} & set(reported):
            return _EVERYWHERE
        return frozenset({"network"}) if "ofi" in reported else frozenset()  # a provider lies over UCX
    if situation.observation.loads(_COMPONENT):
        return _EVERYWHERE if situation.observation.loads(f"{_COMPONENT}ucx") else frozenset({"network"})
    can = situation.mpi.capabilities
    if "ucx" in can.network_libraries_on_node or shared_memory_is_off(situation):
        return _EVERYWHERE
    return frozenset({"network"})


def _without_messages(situation: Situation) -> frozenset[str]:
    """Collectives that ranks of one node carry out in memory they share, unless a setting says otherwise."""
    offered = situation.mpi.capabilities.collectives.without_messages
    if shared_memory_is_off(situation):
        return frozenset()
    return frozenset(name for name, variable in offered.items() if situation.in_force(variable) is None)

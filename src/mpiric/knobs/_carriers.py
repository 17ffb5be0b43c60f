"""Transports that may carry the messages of a job, derived from library, settings and loaded components."""

import re

from mpiric.model.mpi_library import NodeSetting
from mpiric.model.profile import Carriers
from mpiric.model.situation import Situation


def shared_memory_is_off(situation: Situation) -> str:
    """Return the user's setting that prevents ranks of a node from using shared memory; "" without one."""
    for setting in situation.mpi.capabilities.node_settings:
        value = situation.in_force(setting.variable)
        if not setting.needed and situation.is_on(setting.variable):
            return f"{setting.variable}=1"
        if setting.needed and value and not _has_shared_memory(setting, value):
            return f"{setting.variable}={value}"
    return ""


def _has_shared_memory(setting: NodeSetting, components: str) -> bool:
    names = re.split(r"[,:]", components.strip().lstrip("^"))
    is_listed = any(name.strip() in setting.needed for name in names)
    return is_listed is not components.strip().startswith("^")


_EVERYWHERE = frozenset({"node", "network"})
_COMPONENT = "mca_pml_"  # components in files of their own: unselected ones are unloaded again


def carriers(situation: Situation, transport: str) -> Carriers:
    """Return the carriers of messages. ``transport``: layers that the library reported, or ""."""
    return Carriers(transport, _through_ucx(situation, transport.split()), _without_messages(situation))


def _through_ucx(situation: Situation, reported: list[str]) -> frozenset[str]:
    """Return the reaches that UCX may carry, including unknown ones."""
    if not situation.uses_ucx:
        return frozenset()
    if reported:
        if {"ucx", "uct"} & set(reported):
            return _EVERYWHERE
        # A libfabric provider may use UCX.
        return frozenset({"network"}) if "ofi" in reported else frozenset()
    if situation.observation.loads(_COMPONENT):
        return _EVERYWHERE if situation.observation.loads(f"{_COMPONENT}ucx") else frozenset({"network"})
    can = situation.mpi.capabilities
    if "ucx" in can.network_libraries_on_node or shared_memory_is_off(situation):
        return _EVERYWHERE
    return frozenset({"network"})


def _without_messages(situation: Situation) -> frozenset[str]:
    """Return the collectives that ranks of one node perform in shared memory with the current settings."""
    offered = situation.mpi.capabilities.collectives.without_messages
    if shared_memory_is_off(situation):
        return frozenset()
    return frozenset(name for name, variable in offered.items() if situation.in_force(variable) is None)

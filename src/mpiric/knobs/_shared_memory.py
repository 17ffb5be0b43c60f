"""Detection of settings that prevent ranks of a node from using shared memory."""

import re

from mpiric.model.mpi_library import NodeSetting
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

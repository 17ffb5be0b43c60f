"""Resource limits of this process: CPUs by affinity and cgroup, locked memory, open files."""

import re

from mpiric.host.host import Host
from mpiric.machine.cgroups import CgroupLimits
from mpiric.model.machine import Limits
from mpiric.model.numbers_in_text import number_of
from mpiric.model.pu_set import parse_pu_list


def read_limits(host: Host, cgroup: CgroupLimits, pus: tuple[int, ...]) -> Limits:
    """Return the limits of this process; ``pus`` replaces an affinity that the kernel does not report."""
    status = host.read_text("/proc/self/status") or ""
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.MULTILINE)
    affinity = parse_pu_list(allowed[1]) if allowed else ()
    if cgroup.pus:
        affinity = tuple(pu for pu in affinity or cgroup.pus if pu in cgroup.pus)
    text = host.read_text("/proc/self/limits") or ""
    return Limits(
        affinity=affinity or pus,
        cgroup_cpus=cgroup.cpus,
        locked_memory_bytes=_soft_limit(text, "Max locked memory"),
        open_files=_soft_limit(text, "Max open files"),
    )


def _soft_limit(text: str, name: str) -> int:
    match = re.search(rf"^{name}\s+(\S+)", text, re.MULTILINE)
    return number_of(match[1], -1) if match else -1

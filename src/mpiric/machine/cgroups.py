"""Limits by control groups (version 1 and 2) on CPUs, CPU time and memory.

Limits of all levels from the group of the process up to the root apply; the tightest one counts.
"""

from collections.abc import Iterator

from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.pu_set import parse_pu_list

_NO_LIMIT = 1 << 60  # version 1 writes a number near 2^63 for "none"


@dataclass(frozen=True)
class CgroupLimits:
    """Limits of a control group; 0 or empty if unlimited. ``cpus`` is CPU time per wall-clock time."""

    cpus: float = 0.0
    pus: tuple[int, ...] = ()
    memory_bytes: int = 0


def read_cgroup_limits(host: Host) -> CgroupLimits:
    """Return the tightest limits of all hierarchies that can be read."""
    quotas: list[float] = []
    sets: list[tuple[int, ...]] = []
    memories: list[int] = []
    for directory in _directories(host):
        quotas += _quota(host, directory)
        sets += _cpus(host, directory)
        memories += _memory(host, directory)
    # The set of a child is a subset of its parent's set, and the group of the process comes first.
    pus = min(sets, key=len) if sets else ()
    return CgroupLimits(min(quotas, default=0.0), pus, min(memories, default=0))


def _directories(host: Host) -> Iterator[str]:
    groups = {}
    for line in (host.read_text("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        for controller in controllers.split(","):
            groups[controller] = path
    for line in (host.read_text("/proc/self/mountinfo") or "").splitlines():
        mount, _, details = line.partition(" - ")
        fields, kind = mount.split(), details.split()
        if len(fields) < 5 or not kind or kind[0] not in {"cgroup", "cgroup2"}:
            continue
        names = [""] if kind[0] == "cgroup2" else kind[-1].split(",")
        for name in names:
            if name in groups:
                yield from _upwards(fields[4], _below(groups[name], fields[3]))


def _below(group: str, mounted_root: str) -> str:
    """Return the path of a group below the mount point; a container may see only its part of the tree."""
    if mounted_root != "/" and group.startswith(mounted_root):
        return group[len(mounted_root) :]
    return "" if "/.." in group else group


def _upwards(mount_point: str, group: str) -> Iterator[str]:
    parts = [part for part in group.split("/") if part]
    for length in range(len(parts), -1, -1):
        yield "/".join([mount_point.rstrip("/"), *parts[:length]])


def _quota(host: Host, directory: str) -> list[float]:
    values = (host.read_text(f"{directory}/cpu.max") or "").split()
    if not values:
        values = [
            (host.read_text(f"{directory}/cpu.cfs_{name}_us") or "").strip() for name in ("quota", "period")
        ]
    if len(values) == 2 and number_of(values[0]) and number_of(values[1]):
        return [number_of(values[0]) / number_of(values[1])]
    return []


def _cpus(host: Host, directory: str) -> list[tuple[int, ...]]:
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        if pus := parse_pu_list(host.read_text(f"{directory}/{name}") or ""):
            return [pus]
    return []


def _memory(host: Host, directory: str) -> list[int]:
    limits = []
    for name in ("memory.max", "memory.limit_in_bytes"):
        text = (host.read_text(f"{directory}/{name}") or "").strip()
        if 0 <= number_of(text, -1) < _NO_LIMIT:
            limits.append(number_of(text))
    return limits

"""What control groups leave of the machine: CPUs, CPU time and memory, version 1 and 2.

Limits hold for every level from the process's own group up to the root; the tightest counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mpiric.host.host import Host
from mpiric.model.count import number_of
from mpiric.model.pu_set import parse_pu_list

_NO_LIMIT = 1 << 60  # version 1 writes a number near 2^63 for "none"


@dataclass(frozen=True)
class CgroupLimits:
    """Limits of a control group; 0 or empty where unlimited. ``cpus`` is CPU time per wall time."""

    cpus: float = 0.0
    pus: tuple[int, ...] = ()
    memory_bytes: int = 0


def read_cgroup_limits(host: Host) -> CgroupLimits:
    """The tightest limits of all hierarchies that can be read."""
    quotas: list[float] = []
    sets: list[tuple[int, ...]] = []
    memories: list[int] = []
    for directory in _directories(host):
        quotas += _quota(host, directory)
        sets += _cpus(host, directory)
        memories += _memory(host, directory)
    # The sets of a child lie within its parent's, and the process's own group stands first.
    pus = min(sets, key=len) if sets else ()
    return CgroupLimits(min(quotas, default=0.0), pus, min(memories, default=0))


def _directories(host: Host) -> Iterator[str]:
    groups = {}
    for line in (host.read_text("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        for controller in controllers.split(","):
            groups[controller] = path
    for line in (host.read_text("/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or not kind or kind[0] not in {"cgroup", "cgroup2"}:
            continue
        names = [""] if kind[0] == "cgroup2" else kind[-1].split(",")
        for name in names:
            if name in groups:
                yield from _upwards(fields[4], _below(groups[name], fields[3]))


def _below(group: str, mounted_root: str) -> str:
    """The group's path below the mount point: a container may see only its own part of the tree."""
    if mounted_root != "/" and group.startswith(mounted_root):
        return group[len(mounted_root) :]
    return "" if "/.." in group else group


def _upwards(mount_point: str, group: str) -> Iterator[str]:
    parts = [part for part in group.split("/") if part]
    for length in range(len(parts), -1, -1):
        yield "/".join([mount_point.rstrip("/"), *parts[:length]])


def _quota(host: Host, directory: str) -> list[float]:
    words = (host.read_text(f"{directory}/cpu.max") or "").split()
    if not words:
        words = [
            (host.read_text(f"{directory}/cpu.cfs_{name}_us") or "").strip() for name in ("quota", "period")
        ]
    if len(words) == 2 and number_of(words[0]) and number_of(words[1]):
        return [number_of(words[0]) / number_of(words[1])]
    return []


def _cpus(host: Host, directory: str) -> list[tuple[int, ...]]:
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        if pus := parse_pu_list(host.read_text(f"{directory}/{name}") or ""):
            return [pus]
    return []


def _memory(host: Host, directory: str) -> list[int]:
    found = []
    for name in ("memory.max", "memory.limit_in_bytes"):
        text = (host.read_text(f"{directory}/{name}") or "").strip()
        if 0 <= number_of(text, -1) < _NO_LIMIT:
            found.append(number_of(text))
    return found

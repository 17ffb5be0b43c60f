"""Host → Machine, with the limits by control groups (version 1 and 2) on CPUs, CPU time and memory.

Limits of all levels from the group of the process up to the root apply; the tightest one counts.
"""

import re
from collections.abc import Iterator

from mpiric.host.host import Host
from mpiric.host.packaged import packaged_table
from mpiric.machine.devices import local_gpus
from mpiric.machine.system import (
    read_allocators,
    read_blas_libraries,
    read_container,
    read_cpu,
    read_host_name,
    read_kernel,
    read_libc,
    read_nics,
    read_scheduler,
    read_system,
)
from mpiric.machine.topology import topology_of
from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.machine import Compiler, FileSystem, Limits, Machine, Memory, Pages, parse_pu_list
from mpiric.storage import read_mounts, read_storage

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
        limits = []
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = (host.read_text(f"{directory}/{name}") or "").strip()
            if 0 <= number_of(text, -1) < _NO_LIMIT:
                limits.append(number_of(text))
        memories += limits
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
                parts = [part for part in _below(groups[name], fields[3]).split("/") if part]
                for length in range(len(parts), -1, -1):
                    yield "/".join([fields[4].rstrip("/"), *parts[:length]])


def _below(group: str, mounted_root: str) -> str:
    """Return the path of a group below the mount point; a container may see only its part of the tree."""
    if mounted_root != "/" and group.startswith(mounted_root):
        return group[len(mounted_root) :]
    return "" if "/.." in group else group


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


def read_compilers(host: Host) -> tuple[Compiler, ...]:
    """Return the compilers on PATH that support ``--version``."""
    compilers = []
    for name, languages in packaged_table("machine/compilers").items():
        path = host.which(name)
        if path is None:
            continue
        answer = host.run([path, "--version"])
        if answer.status == 0:
            compilers.append(Compiler(name, version_in(answer.stdout), path, tuple(languages)))
    return tuple(compilers)


def version_in(text: str) -> str:
    """Return the version number in the output of a compiler: ``gcc (Debian 12.2.0-14) 12.2.0``."""
    bare = re.sub(r"\([^)]*\)", " ", text)
    match = re.search(r"(?<![\w.])v?(\d+\.\d+(?:[.-]\d+)*)", bare)
    return match[1] if match else ""


_SCRATCH = ("SCRATCH", "WORK", "PROJECT", "TMPDIR")


def read_file_systems(host: Host, working_directory: str) -> tuple[FileSystem, ...]:
    """Return the file systems of the working directory, home, scratch, /tmp and /dev/shm, each once."""
    directories = [host.environ.get(name, "") for name in ("HOME", *_SCRATCH)]
    mounts = read_mounts(host)
    file_systems: dict[str, FileSystem] = {}
    for path in [working_directory, *directories, "/tmp", "/dev/shm"]:  # noqa: S108 read, not written to
        if path.startswith("/"):
            entry = read_storage(host, path, mounts)
            if entry is not None:
                file_systems.setdefault(entry.mount_point, entry)
    return tuple(file_systems.values())


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


_THP = "/sys/kernel/mm/transparent_hugepage"
_PAGE_SIZE = 4096


def read_memory(host: Host, limit_bytes: int) -> Memory:
    """Return the memory of a host; ``limit_bytes`` is the limit of the cgroup, 0 for none."""
    facts = dict(
        re.findall(r"^(\w+(?:\(\w+\))?):\s*(\d+)", host.read_text("/proc/meminfo") or "", re.MULTILINE)
    )

    def kib(name: str) -> int:
        return number_of(facts.get(name, "")) * 1024

    total = kib("MemTotal")
    text = host.run(["getconf", "PAGESIZE"]).stdout.strip()
    pages = Pages(
        size_bytes=number_of(text, _PAGE_SIZE),
        transparent=_chosen(host.read_text(f"{_THP}/enabled")),
        transparent_defrag=_chosen(host.read_text(f"{_THP}/defrag")),
        huge_size_bytes=kib("Hugepagesize"),
        huge_reserved=number_of(facts.get("HugePages_Total", "")),
        huge_free=number_of(facts.get("HugePages_Free", "")),
    )
    return Memory(
        total_bytes=total,
        available_bytes=kib("MemAvailable") or kib("MemFree"),
        limit_bytes=limit_bytes if 0 < limit_bytes < (total or limit_bytes + 1) else 0,
        overcommit=number_of((host.read_text("/proc/sys/vm/overcommit_memory") or "").strip()),
        pages=pages,
    )


def _chosen(text: str | None) -> str:
    """Return the selected option of a kernel setting: ``always [madvise] never`` → ``madvise``."""
    match = re.search(r"\[(\w[\w+]*)\]", text or "")
    return match[1] if match else ""


def read_machine(host: Host, working_directory: str, *, software: bool = True) -> Machine:
    """Return all facts of a machine; facts that cannot be read are empty. Needs no privileges.

    ``software=False`` leaves out compilers, allocators and BLAS libraries, which take most of the time.
    """
    topology = topology_of(host)
    cgroup = read_cgroup_limits(host)
    return Machine(
        host_name=read_host_name(host),
        kernel=read_kernel(host),
        system=read_system(host),
        libc=read_libc(host),
        cpu=read_cpu(host),
        topology=topology,
        memory=read_memory(host, cgroup.memory_bytes),
        limits=read_limits(host, cgroup, topology.pus),
        nics=read_nics(host),
        file_systems=read_file_systems(host, working_directory),
        compilers=read_compilers(host) if software else (),
        scheduler=read_scheduler(host),
        preloads=read_allocators(host) if software else (),
        blas_libraries=read_blas_libraries(host) if software else (),
        gpus=len(local_gpus(host)),
        container=read_container(host),
    )

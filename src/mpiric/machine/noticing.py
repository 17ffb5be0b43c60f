"""Findings on a machine for users who run MPI programs on it."""

from collections.abc import Callable, Iterator
from functools import partial

from mpiric.host.packaged import finding_from
from mpiric.model.errors import Finding
from mpiric.model.machine import Machine, pu_list

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 read, not written to
_SMALL_LOCKED_BYTES = 64 << 20
_SMALL_SHARED_BYTES = 256 << 20  # Docker's default of 64 MiB is too small for the segments of four ranks
_HUGE_PAGES = {"madvise": "huge-pages-on-request", "never": "no-huge-pages"}  # mode of the kernel → finding
_finding = partial(finding_from, "machine/noticing")


def notice(machine: Machine) -> tuple[Finding, ...]:
    """Return the findings, usually most expensive ones first."""
    return tuple(finding for check in _CHECKS for finding in check(machine))


def _fewer_cpus(machine: Machine) -> Iterator[Finding]:
    quota, every, usable = machine.limits.cgroup_cpus, machine.topology.pus, machine.usable_pus
    if len(usable) < len(every):
        yield _finding("restricted-cpus", usable=len(usable), every=len(every), pus=pu_list(usable))
    if quota and quota < len(usable):
        yield _finding("cpu-quota", quota=quota, usable=len(usable), cpus=machine.usable_cpu_count)


def _less_memory(machine: Machine) -> Iterator[Finding]:
    limit, total = machine.memory.limit_bytes, machine.memory.total_bytes
    if limit:
        yield _finding("memory-limit", limit_gib=limit / 2**30, total_gib=total / 2**30)
    for system in machine.file_systems:
        if system.mount_point == _SHARED_MEMORY and 0 < system.size_bytes < _SMALL_SHARED_BYTES:
            yield _finding("small-shared-memory", path=_SHARED_MEMORY, size_mib=system.size_bytes / 2**20)


def _huge_pages(machine: Machine) -> Iterator[Finding]:
    mode = machine.memory.pages.transparent
    if mode in _HUGE_PAGES:
        yield _finding(_HUGE_PAGES[mode])


def _locked_memory(machine: Machine) -> Iterator[Finding]:
    limit = machine.limits.locked_memory_bytes
    if 0 <= limit < _SMALL_LOCKED_BYTES:
        rdma = any(not nic.is_ip for nic in machine.nics)
        consequence = "RDMA needs more and fails or falls back." if rdma else "RDMA networks would need more."
        yield _finding("locked-memory", consequence=consequence, limit_mib=limit / 2**20)


def _cores(machine: Machine) -> Iterator[Finding]:
    topology = machine.topology
    if topology.has_smt:
        yield _finding("smt", pus=len(topology.pus), cores=len(topology.cores))
    if len({core.kind for core in topology.cores if core.kind}) > 1:
        slow = sum(core.kind == "efficiency" for core in topology.cores)
        yield _finding("unequal-cores", slow=slow, cores=len(topology.cores))


def _surroundings(machine: Machine) -> Iterator[Finding]:
    if machine.container:
        yield _finding("container", container=machine.container)
    if machine.memory.overcommit == 2:
        yield _finding("strict-overcommit")


def _file_systems(machine: Machine) -> Iterator[Finding]:
    if machine.file_systems and machine.file_systems[0].is_network:
        working = machine.file_systems[0]
        yield _finding("network-file-system", path=working.path, kind=working.kind)


_CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    _fewer_cpus,
    _less_memory,
    _cores,
    _huge_pages,
    _locked_memory,
    _file_systems,
    _surroundings,
)

"""What of a machine is worth a sentence to someone who runs MPI programs on it."""

from collections.abc import Callable, Iterator

from mpiric.model.finding import Finding
from mpiric.model.machine import Machine
from mpiric.model.pu_set import pu_list

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 looked at, not written to
_SMALL_LOCKED_BYTES = 64 << 20
_SMALL_SHARED_BYTES = 256 << 20  # Docker's default is 64 MiB, less than four ranks' segments take


def notice(machine: Machine) -> tuple[Finding, ...]:
    """Findings in the order of how much they usually cost."""
    return tuple(finding for check in _CHECKS for finding in check(machine))


def _fewer_cpus(machine: Machine) -> Iterator[Finding]:
    limits, every = machine.limits, machine.topology.pus
    usable = machine.usable_pus
    if len(usable) < len(every):
        yield Finding(
            "restricted-cpus",
            f"This process may use {len(usable)} of {len(every)} hardware threads.",
            f"affinity and cpuset leave {pu_list(usable)}",
            "if that is not meant, give it all CPUs (srun --cpus-per-task, docker --cpuset-cpus)",
        )
    if limits.cgroup_cpus and limits.cgroup_cpus < len(usable):
        yield Finding(
            "cpu-quota",
            f"A control group grants CPU time for {limits.cgroup_cpus:g} CPUs only.",
            f"cpu quota {limits.cgroup_cpus:g} on {len(usable)} hardware threads",
            f"keep to {machine.usable_cpu_count} busy ranks or threads, or raise the quota (docker --cpus)",
        )


def _less_memory(machine: Machine) -> Iterator[Finding]:
    limit = machine.memory.limit_bytes
    if limit:
        yield Finding(
            "memory-limit",
            "A control group limits the memory; beyond it programs are killed.",
            f"{limit / 2**30:.1f} of {machine.memory.total_bytes / 2**30:.1f} GiB",
            "keep the ranks' memory below it, or raise it (docker --memory, sbatch --mem)",
        )
    for system in machine.file_systems:
        if system.mount_point == _SHARED_MEMORY and 0 < system.size_bytes < _SMALL_SHARED_BYTES:
            yield Finding(
                "small-shared-memory",
                "Shared memory is too small for the segments of several ranks.",
                f"{_SHARED_MEMORY} has {system.size_bytes / 2**20:.0f} MiB",
                "start the container with more (docker --shm-size=1g)",
            )


def _huge_pages(machine: Machine) -> Iterator[Finding]:
    mode = machine.memory.pages.transparent
    if mode == "madvise":
        yield Finding(
            "huge-pages-on-request",
            "Transparent huge pages are given only to programs that ask for them.",
            "transparent_hugepage/enabled is madvise",
            "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 makes malloc ask (glibc 2.35 and later)",
        )
    elif mode == "never":
        yield Finding(
            "no-huge-pages",
            "Transparent huge pages are switched off.",
            "transparent_hugepage/enabled is never",
            "ask the administrator for madvise",
        )


def _locked_memory(machine: Machine) -> Iterator[Finding]:
    limit = machine.limits.locked_memory_bytes
    if 0 <= limit < _SMALL_LOCKED_BYTES:
        rdma = any(not nic.is_ip for nic in machine.nics)
        yield Finding(
            "locked-memory",
            "Little memory may be locked; "
            + ("RDMA needs more and fails or falls back." if rdma else "RDMA networks would need more."),
            f"max locked memory is {limit / 2**20:.0f} MiB",
            "ulimit -l unlimited, or memlock in /etc/security/limits.conf",
        )


def _cores(machine: Machine) -> Iterator[Finding]:
    topology = machine.topology
    if topology.has_smt:
        yield Finding(
            "smt",
            "Cores run more than one hardware thread; one rank a core is usually faster than one a thread.",
            f"{len(topology.pus)} hardware threads on {len(topology.cores)} cores",
            "count cores, not CPUs, when choosing the number of ranks",
        )
    kinds = {core.kind for core in topology.cores if core.kind}
    if len(kinds) > 1:
        slow = sum(core.kind == "efficiency" for core in topology.cores)
        yield Finding(
            "unequal-cores",
            "Cores are of unequal speed; a rank on a slow one holds all others up.",
            f"{slow} of {len(topology.cores)} cores are efficiency cores",
            "bind ranks to the performance cores",
        )


def _surroundings(machine: Machine) -> Iterator[Finding]:
    if machine.container:
        yield Finding(
            "container",
            "This is the inside of a container: MPIs of the host are not seen.",
            machine.container,
            "run mpiric outside to tune the host's MPI",
        )
    if machine.memory.overcommit == 2:
        yield Finding(
            "strict-overcommit",
            "The kernel refuses to promise more memory than there is; large reservations can fail.",
            "vm.overcommit_memory is 2",
            "avoid allocators and MPI settings that reserve much address space",
        )


def _file_systems(machine: Machine) -> Iterator[Finding]:
    if machine.file_systems and machine.file_systems[0].is_network:
        working = machine.file_systems[0]
        yield Finding(
            "network-file-system",
            "The working directory is on a network file system: its speed varies with other users.",
            f"{working.path} is on {working.kind}",
            "measure with small output, or on local disk when the program allows",
        )


_CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    _fewer_cpus,
    _less_memory,
    _cores,
    _huge_pages,
    _locked_memory,
    _file_systems,
    _surroundings,
)

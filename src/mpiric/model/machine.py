"""Machine: hardware and operating system, without MPI; sets of its PUs."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from enum import Enum

from ClusterShell.RangeSet import RangeSet, RangeSetParseError

from mpiric.model.dataclass import dataclass
from mpiric.model.storage import FileLayout, LayoutLimits

_RANGE = re.compile(r"\d{1,5}(-\d{1,5})?", re.ASCII)


def pu_list(pus: Iterable[int]) -> str:
    """Return the PUs as a list of ranges: {0, 1, 2, 8} → ``"0-2,8"``."""
    ranges = RangeSet()  # type: ignore[no-untyped-call]
    for pu in pus:
        ranges.add(pu)  # type: ignore[no-untyped-call]
    return str(ranges)


def parse_pu_list(text: str) -> tuple[int, ...]:
    """Parse ``"0-2,8"`` → (0, 1, 2, 8), ascending; other text and numbers from 100,000 on are ignored."""
    ranges = RangeSet()  # type: ignore[no-untyped-call]
    for part in text.split(","):
        if _RANGE.fullmatch(part.strip()):
            with suppress(RangeSetParseError):  # range whose end is less than its start
                ranges.update(RangeSet(part))  # type: ignore[no-untyped-call]
    return tuple(sorted({int(pu) for pu in ranges}))


def pu_mask(pus: Iterable[int]) -> str:
    """Return the PUs as one hexadecimal number of any width: {0, 4} → ``"0x11"``."""
    return hex(sum(1 << pu for pu in set(pus)))


def parse_pu_mask(text: str) -> tuple[int, ...]:
    """Parse a bitmap of hwloc: ``"0x0000000f,,0x1"`` → (0, 64, 65, 66, 67); 32-bit words, highest first."""
    pus: list[int] = []
    for position, word in enumerate(reversed(text.split(","))):
        value = int(word, 16) if word not in {"", "0xf...f"} else 0
        pus += [position * 32 + bit for bit in range(value.bit_length()) if value >> bit & 1]
    return tuple(pus)


_BRIDGES = ("docker", "virbr", "br-", "veth", "cni", "podman")  # prefixes of interface names


@dataclass(frozen=True)
class Cache:
    """CPU cache; ``pus`` are the OS indices of the hardware threads that share it."""

    level: int
    kind: str  # "data", "instruction" or "unified"
    size_bytes: int
    line_bytes: int
    pus: tuple[int, ...]


@dataclass(frozen=True)
class Core:
    """Physical core and its hardware threads (OS indices, the first sibling first)."""

    index: int
    package: int
    numa_node: int
    pus: tuple[int, ...]
    kind: str = ""  # "performance" or "efficiency" on hybrid CPUs


@dataclass(frozen=True)
class NumaNode:
    """NUMA node: a memory domain."""

    index: int
    memory_bytes: int
    pus: tuple[int, ...]
    distances: tuple[int, ...] = ()  # distances to all nodes in their order, as the firmware reports them


@dataclass(frozen=True)
class Topology:
    """Cores, caches and memory, as hwloc reports them."""

    cores: tuple[Core, ...]
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    xml: str = ""  # XML description of hwloc, for additional details

    @property
    def pus(self) -> tuple[int, ...]:
        """Return the OS indices of all hardware threads, ascending."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))

    @property
    def packages(self) -> tuple[int, ...]:
        """Return the indices of the sockets, ascending."""
        return tuple(sorted({core.package for core in self.cores}))

    @property
    def has_smt(self) -> bool:
        """Return whether any core runs more than one hardware thread."""
        return any(len(core.pus) > 1 for core in self.cores)


@dataclass(frozen=True)
class Cpu:
    """CPU generation, with archspec's names."""

    target: str  # "icelake", "zen4", ...
    generic: str  # "x86_64_v4", ...
    vendor: str
    model: str  # model name that the kernel reports
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pages:
    """Page sizes, and the kernel's policy for large pages."""

    size_bytes: int
    transparent: str  # "always", "madvise", "never"; "" if unknown
    transparent_defrag: str
    huge_size_bytes: int
    huge_reserved: int
    huge_free: int


@dataclass(frozen=True)
class Memory:
    """Memory of the machine in bytes; ``limit_bytes`` is the cgroup's limit, 0 without one."""

    total_bytes: int
    available_bytes: int
    limit_bytes: int
    overcommit: int  # vm.overcommit_memory
    pages: Pages


@dataclass(frozen=True)
class Limits:
    """Limits of this process."""

    affinity: tuple[int, ...]  # PUs the process may run on
    cgroup_cpus: float  # CPU bandwidth of the cgroup, 0 if unlimited
    locked_memory_bytes: int  # RLIMIT_MEMLOCK, -1 if unlimited
    open_files: int


IP_KINDS = frozenset({"ethernet", "ipoib", "loopback", "virtual"})  # kinds that are used through IP only


@dataclass(frozen=True)
class Nic:
    """Network interface."""

    name: str
    kind: str  # "loopback", or a kind of fabric/networks.toml: "ethernet", "infiniband", "omni-path", ...
    speed_mbit: int  # 0 if the kernel does not report it
    mtu: int
    up: bool
    addresses: tuple[str, ...]
    numa_node: int = -1

    @property
    def is_ip(self) -> bool:
        """Return whether the kernel's IP stack is the only way to use the interface."""
        return self.kind in IP_KINDS


@dataclass(frozen=True)
class FileSystem:
    """File system that contains a directory."""

    path: str
    mount_point: str
    kind: str  # name of a module in storage/ ("lustre", "nfs", ...), else the mount type ("ext4", "tmpfs")
    size_bytes: int
    free_bytes: int
    is_network: bool
    mount_type: str = ""  # type in the mount table: "fuse.lustre", "nfs4", ...
    targets: int | None = None  # number of data targets; None if it is not reported
    metadata_servers: int | None = None
    default_layout: FileLayout | None = None  # layout of new files in `path`
    layout_limits: LayoutLimits = field(default_factory=LayoutLimits)
    quota_free_bytes: int | None = None  # unused part of the user's quota, None without a quota
    locks: str = ""  # see `StorageFacts`
    reads_change_times: bool = True  # mount option: a read may update the access time
    is_writable: bool = True
    # Label of an MPI library → driver that serves this file system.
    mpi_drivers: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Compiler:
    """Compiler in PATH."""

    name: str
    version: str
    path: str
    languages: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """Machine that mpiric runs on."""

    host_name: str
    kernel: str
    system: str  # "Debian GNU/Linux 12 (bookworm)"
    libc: str  # "glibc 2.36"
    cpu: Cpu
    topology: Topology
    memory: Memory
    limits: Limits
    nics: tuple[Nic, ...] = ()
    file_systems: tuple[FileSystem, ...] = ()
    compilers: tuple[Compiler, ...] = ()
    scheduler: str = ""  # "slurm" if its commands are installed, "" without a scheduler
    preloads: tuple[tuple[str, str], ...] = ()  # allocators that are installed: ("jemalloc", path)
    blas_libraries: tuple[tuple[str, str], ...] = ()  # ("openblas", path of its libblas.so.3)
    gpus: int = 0
    container: str = ""  # container engine that mpiric runs in, "" if none is detected

    @property
    def networks(self) -> tuple[Nic, ...]:
        """Return the interfaces that can carry messages between nodes, the fastest first."""
        usable = [
            nic
            for nic in self.nics
            if nic.up and nic.kind != "loopback" and not nic.name.startswith(_BRIDGES)
            if nic.addresses or not nic.is_ip
        ]
        return tuple(sorted(usable, key=lambda nic: (nic.is_ip, -nic.speed_mbit, nic.name)))

    @property
    def usable_pus(self) -> tuple[int, ...]:
        """Return the hardware threads this process may use: topology ∩ affinity."""
        allowed = set(self.limits.affinity)
        return tuple(pu for pu in self.topology.pus if pu in allowed) or self.topology.pus

    @property
    def usable_cpu_count(self) -> int:
        """Return the number of CPUs this process may use, limited by the cgroup's bandwidth; at least 1."""
        count = len(self.usable_pus)
        quota = self.limits.cgroup_cpus
        return max(1, min(count, int(quota))) if quota else count

    @property
    def usable_cores(self) -> tuple[Core, ...]:
        """Return the cores with at least one usable hardware thread."""
        usable = set(self.usable_pus)
        return tuple(core for core in self.topology.cores if usable.intersection(core.pus))


Cores = tuple[Core, ...]


class Level(str, Enum):
    """Kinds of domains of a node, from the widest to the narrowest."""

    SOCKET = "socket"
    NUMA = "numa"
    CACHE = "cache"  # outermost cache that several cores share


@dataclass(frozen=True)
class CoreSet:
    """Usable cores in hwloc's order."""

    topology: Topology
    cores: Cores

    def domains(self, level: Level) -> tuple["CoreSet", ...]:
        """Split the cores by domain; domains in the order of their first core."""
        key = _keys(self.topology)[level]
        by_domain: dict[int, list[Core]] = {}
        for core in self.cores:
            by_domain.setdefault(key(core), []).append(core)
        return tuple(replace(self, cores=tuple(cores)) for cores in by_domain.values())

    def only(self, cores: Iterable[Core]) -> "CoreSet":
        """Return the subset that contains only these cores."""
        allowed = set(cores)
        return replace(self, cores=tuple(core for core in self.cores if core in allowed))

    def packed(self, count: int, width: int) -> tuple[Cores, ...]:
        """Return the cores of ``count`` ranks, each with ``width`` adjacent cores, from the first core on."""
        return tuple(self.cores[rank * width : (rank + 1) * width] for rank in range(count))


def _keys(topology: Topology) -> dict[Level, Callable[[Core], int]]:
    # The number of the outermost data cache that a core shares with another core, by core index.
    caches = sorted((c for c in topology.caches if c.kind != "instruction"), key=lambda cache: cache.level)
    shared: dict[int, int] = {}
    for number, cache in enumerate(caches):
        inside = [core.index for core in topology.cores if core.pus[0] in cache.pus]
        if len(inside) > 1:
            shared.update((index, number) for index in inside)
    return {
        Level.SOCKET: lambda core: core.package,
        Level.NUMA: lambda core: core.numa_node,
        Level.CACHE: lambda core: shared.get(core.index, -1 - core.index),
    }

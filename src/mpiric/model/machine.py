"""Machine: what the hardware and the system are. Knows nothing of MPI."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpiric.model.storage import FileLayout, LayoutLimits

_BRIDGES = ("docker", "virbr", "br-", "veth", "cni", "podman")  # beginnings of names


@dataclass(frozen=True)
class Cache:
    """One cache: ``pus`` are the OS indices of the hardware threads that share it."""

    level: int
    kind: str  # "data", "instruction" or "unified"
    size_bytes: int
    line_bytes: int
    pus: tuple[int, ...]


@dataclass(frozen=True)
class Core:
    """One physical core and its hardware threads (OS indices, the first sibling first)."""

    index: int
    package: int
    numa_node: int
    pus: tuple[int, ...]
    kind: str = ""  # "performance" or "efficiency" on hybrid CPUs


@dataclass(frozen=True)
class NumaNode:
    """One memory domain."""

    index: int
    memory_bytes: int
    pus: tuple[int, ...]
    distances: tuple[int, ...] = ()  # to every node in order, as the firmware reports them


@dataclass(frozen=True)
class Topology:
    """The tree of cores, caches and memory, as hwloc sees it."""

    cores: tuple[Core, ...]
    numa_nodes: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    xml: str = ""  # hwloc's own description, for those who need more

    @property
    def pus(self) -> tuple[int, ...]:
        """OS indices of every hardware thread, ascending."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))

    @property
    def packages(self) -> tuple[int, ...]:
        """Indices of the sockets, ascending."""
        return tuple(sorted({core.package for core in self.cores}))

    @property
    def has_smt(self) -> bool:
        """Whether any core runs more than one hardware thread."""
        return any(len(core.pus) > 1 for core in self.cores)


@dataclass(frozen=True)
class Cpu:
    """The CPU generation, by archspec's names."""

    target: str  # "icelake", "zen4", ...
    generic: str  # "x86_64_v4", ...
    vendor: str
    model: str  # the marketing name the kernel prints
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pages:
    """Page sizes and how the kernel hands out large ones."""

    size_bytes: int
    transparent: str  # "always", "madvise", "never" or "" when unknown
    transparent_defrag: str
    huge_size_bytes: int
    huge_reserved: int
    huge_free: int


@dataclass(frozen=True)
class Memory:
    """Memory of the machine, in bytes; ``limit_bytes`` is the cgroup's, 0 when there is none."""

    total_bytes: int
    available_bytes: int
    limit_bytes: int
    overcommit: int  # vm.overcommit_memory
    pages: Pages


@dataclass(frozen=True)
class Limits:
    """What this process may use of the machine."""

    affinity: tuple[int, ...]  # PUs the process may run on
    cgroup_cpus: float  # CPU bandwidth the cgroup grants, 0 when unlimited
    locked_memory_bytes: int  # RLIMIT_MEMLOCK, -1 when unlimited
    open_files: int


IP_KINDS = frozenset({"ethernet", "ipoib", "loopback", "virtual"})  # reached by IP alone


@dataclass(frozen=True)
class Nic:
    """One network interface."""

    name: str
    kind: str  # "loopback", or one of fabric/networks.toml: "ethernet", "infiniband", "omni-path", ...
    speed_mbit: int  # 0 when the kernel does not say
    mtu: int
    up: bool
    addresses: tuple[str, ...]
    numa_node: int = -1

    @property
    def is_ip(self) -> bool:
        """Whether ranks reach it through the kernel's IP stack alone, not past it."""
        return self.kind in IP_KINDS


@dataclass(frozen=True)
class FileSystem:
    """The file system under a directory."""

    path: str
    mount_point: str
    kind: str  # a name of storage/ ("lustre", "nfs", ...), the mount's type for all others ("ext4", "tmpfs")
    size_bytes: int
    free_bytes: int
    is_network: bool
    mount_type: str = ""  # in the mount table: "fuse.lustre", "nfs4", ...
    targets: int | None = None  # that hold data; None: it does not say
    metadata_servers: int | None = None
    default_layout: FileLayout | None = None  # of files made in `path`
    layout_limits: LayoutLimits = field(default_factory=LayoutLimits)
    quota_free_bytes: int | None = None  # that the user's quota leaves, None without one
    locks: str = ""  # as in `StorageFacts`
    reads_change_times: bool = True  # mounted so that a read may write an access time
    is_writable: bool = True
    mpi_drivers: Mapping[str, str | None] = field(default_factory=dict)  # MPI's label → driver that serves it


@dataclass(frozen=True)
class Compiler:
    """A compiler found on PATH."""

    name: str
    version: str
    path: str
    languages: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """Everything known of the machine mpiric runs on."""

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
    scheduler: str = ""  # "slurm" when commands of one are here, "" otherwise
    preloads: tuple[tuple[str, str], ...] = ()  # allocators found: ("jemalloc", path)
    blas_libraries: tuple[tuple[str, str], ...] = ()  # ("openblas", path of a libblas.so.3 of its own)
    gpus: int = 0
    container: str = ""  # engine mpiric itself runs inside of, "" when none shows

    @property
    def networks(self) -> tuple[Nic, ...]:
        """Interfaces that can carry messages between nodes, the fastest first; no bridges of containers."""
        usable = [
            nic
            for nic in self.nics
            if nic.up and nic.kind != "loopback" and not nic.name.startswith(_BRIDGES)
            if nic.addresses or not nic.is_ip
        ]
        return tuple(sorted(usable, key=lambda nic: (nic.is_ip, -nic.speed_mbit, nic.name)))

    @property
    def usable_pus(self) -> tuple[int, ...]:
        """Hardware threads this process may use: topology ∩ affinity."""
        allowed = set(self.limits.affinity)
        return tuple(pu for pu in self.topology.pus if pu in allowed) or self.topology.pus

    @property
    def usable_cpu_count(self) -> int:
        """How many CPUs' worth of time can be had, cgroup bandwidth included; at least 1."""
        count = len(self.usable_pus)
        quota = self.limits.cgroup_cpus
        return max(1, min(count, int(quota))) if quota else count

    @property
    def usable_cores(self) -> tuple[Core, ...]:
        """Cores with at least one usable hardware thread."""
        usable = set(self.usable_pus)
        return tuple(core for core in self.topology.cores if usable.intersection(core.pus))

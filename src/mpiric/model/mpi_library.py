"""MPI libraries that are installed or can be installed from PyPI, and the capabilities of their versions."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class NodeSetting:
    """Variable that can disable shared memory between the ranks of a node.

    Its value is a list of components; one of ``needed`` provides shared memory, and a leading ``^``
    excludes all listed components. Without ``needed`` the variable is a switch that disables shared memory.
    """

    variable: str
    needed: tuple[str, ...] = ()


@dataclass(frozen=True)
class CollectiveComponents:
    """Components of a library that implement collective operations, the most promising first."""

    between_nodes: tuple[str, ...] = ()  # useful for jobs on several nodes
    on_node: tuple[str, ...] = ()  # useful if a node runs several ranks
    everywhere: tuple[str, ...] = ()
    # Value of the component → shared library that it needs.
    plugins: Mapping[str, str] = field(default_factory=dict)
    # Collective that ranks of a node perform in shared memory → variable that changes this.
    without_messages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Capabilities:
    """Properties of one version of an MPI implementation, declared in its file in ``mpis/``."""

    title: str = ""  # name that the vendor uses
    settings: frozenset[str] = frozenset()  # knobs that the library has settings for

    # Start of ranks, and waiting.
    binds_by_default: bool = True
    # Values of `binding` up to two ranks, and for more ranks; "" if unknown.
    default_binding: tuple[str, str] = ("", "")
    maps_as_it_binds: bool = False  # ranks are mapped to the same level that they are bound to
    can_sleep: bool = False  # can sleep while it waits, not only yield
    waiting_switches: tuple[str, ...] = ()  # variables that make waiting ranks release their CPU
    yields_when_oversubscribed: bool = False  # yields CPUs if the launcher allows oversubscription
    helper_threads: int = 0  # number of threads of an idle rank: progress, process management

    # Messages within a node.
    always_shares_memory: bool = False
    has_node_only_transport: bool = False  # there is a setting under which no network is polled
    starts_light: bool = False  # measured: opening the networks takes little of the start-up time
    node_settings: tuple[NodeSetting, ...] = ()
    single_copy: tuple[str, ...] = ()  # mechanisms other than the default
    single_copy_variable: str = ""  # variable whose value "none" disables the default (CMA)
    has_single_copy_threshold: bool = True
    cells_per_rank: int = 0  # size of the pool of message buffers of each rank; 0 without a pool
    kernel_copy_from_bytes: int = 0  # message size from which the kernel copies; 0: never
    # `eager-node` is only a threshold, not also the chunk size of larger messages.
    eager_cuts_only: bool = False
    sizes_in_force: Mapping[str, int] = field(default_factory=dict)  # knob with sizes → default in bytes
    node_buffers: str = ""  # default number of messages in flight
    node_buffers_variable: str = ""
    memory_copies: tuple[str, ...] = ()  # selectable routines

    # Messages between nodes.
    network_libraries: tuple[str, ...] = ()  # compiled in and selectable
    network_libraries_on_node: tuple[str, ...] = ()  # subset that also carries messages within a node
    # Library → setting.
    network_library_variables: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    has_one_network: bool = False  # built for one kind of network; selects the adapters itself
    only_over_libfabric: bool = False
    interface_variables: tuple[str, ...] = ("FI_TCP_IFACE",)
    # Providers of the libfabric that it ships, without deprecated ones; empty if it uses the system's.
    providers: tuple[str, ...] = ()
    provider_variables: tuple[str, ...] = ("FI_PROVIDER",)  # sorted by precedence
    # Variables; may contain {interface} and {netmod}.
    tcp_only: Mapping[str, str] = field(default_factory=dict)

    # Components that only some versions have.
    component_variables: tuple[str, ...] = ()  # each holds a list of components of one framework
    removed_components: frozenset[str] = frozenset()  # components of earlier versions

    # Collectives and files.
    collectives: CollectiveComponents = field(default_factory=CollectiveComponents)
    # Variables that must be set before MPI starts.
    needed_to_switch_algorithms: Mapping[str, str] = field(default_factory=dict)
    mpi_io: str = ""  # implementation whose hints MPI-IO uses by default: "romio" or "ompio"
    io_implementations: tuple[str, ...] = ()  # selectable implementations of MPI-IO, if there are several
    io_variable: str = ""  # variable that selects one of them
    io_signs: tuple[str, ...] = ()  # variables that only users of MPI-IO set
    drivers_switch: str = ""  # variable; unless it is set, the NFS driver serves all files


class AbiFamily(str, Enum):
    """Group of libraries with the same ABI, which can replace each other for an executable."""

    MPICH = "mpich"  # libmpi.so.12 (and Debian's libmpich.so.12)
    OPENMPI = "openmpi"  # libmpi.so.40
    STANDARD = "standard"  # libmpi_abi.so.1


@dataclass(frozen=True)
class MpiLibrary:
    """Installed MPI library: identity, location, and environment for its programs."""

    implementation: str  # name of a module in mpis/: "mpich", "openmpi", "intelmpi", "mvapich"
    version: str
    abi_families: tuple[AbiFamily, ...]
    prefix: str
    library: str  # absolute path of the shared library
    soname: str
    launcher: str  # absolute path of mpiexec, "" without one
    dialect: str  # name of a module in launchers/, the syntax of `launcher`
    found_by: str  # "path", "environment", "python", "mpiric", "module", "conda", "debian", "opt", ...
    transports: tuple[str, ...] = ()
    compilers: Mapping[str, str] = field(default_factory=dict)  # {"c": ".../mpicc", ...}
    # Variables that programs with this library need.
    environment: Mapping[str, str] = field(default_factory=dict)
    library_path: tuple[str, ...] = ()  # directories to prepend to LD_LIBRARY_PATH, for the same purpose
    # Directories to prepend to PATH, so that the launcher finds its daemons.
    search_path: tuple[str, ...] = ()
    # All MPI libraries in its directory; a program may need others (Fortran).
    sonames: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()  # subset that exists only as symbolic links: the files have another soname
    standard_library: str = ""  # absolute path of its libmpi_abi.so.1, "" without the standard ABI
    wrong_constants: tuple[str, ...] = ()  # constants of that library whose values differ from the standard
    repair: str = ""  # absolute path of the library that corrects those constants, "" without
    module: str = ""  # environment module that provides it, "" if unknown
    stand_in: str = ""  # absolute path of the translation library for C calls, "" if none is needed
    fortran: str = ""  # the same for Fortran calls, "" if the program's own library handles them
    # Reason why no translation library supports the program, "" if one does or none is needed.
    refused: str = ""
    # Functions that the program can call and that the translation does not support.
    lacks: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    file_drivers: tuple[str, ...] = ()  # drivers of MPI-IO: "ufs", "nfs", "lustre", ...

    @property
    def preloaded(self) -> tuple[str, ...]:
        """Return the libraries to preload so that this library serves a program."""
        repaired = (self.repair, self.standard_library) if self.repair else ()
        return repaired or tuple(path for path in (self.stand_in, self.fortran) if path)

    @property
    def label(self) -> str:
        """Return name and version, as shown to users and written to recipes."""
        return f"{self.implementation}-{self.version}"

    @property
    def major(self) -> int:
        """Return the first number of the version, 0 without one."""
        head = self.version.split(".")[0]
        return int(head) if head.isdigit() else 0


@dataclass(frozen=True)
class WheelPart:
    """Files to install from one wheel, selected by path prefix in its data scheme (``bin/…``, ``lib/…``)."""

    distribution: str  # "impi-rt"
    version: str
    # Hashes of the wheels, one per processor architecture; empty: pip checks none.
    sha256: tuple[str, ...] = ()
    # Path prefix in the wheel → path prefix in the installation.
    moves: Mapping[str, str] = field(default_factory=lambda: {"": ""})

    @property
    def requirement(self) -> str:
        """Return the requirement for pip's command line and for messages."""
        return f"{self.distribution}=={self.version}"

    @property
    def requirement_line(self) -> str:
        """Return the requirement with the hashes that pip accepts, as a line of a requirements file."""
        return " ".join([self.requirement, *(f"--hash=sha256:{digest}" for digest in self.sha256)])


@dataclass(frozen=True)
class MpiPackage:
    """MPI library that is installed into its own prefix."""

    implementation: str  # name of a module in mpis/
    parts: tuple[WheelPart, ...]
    # Replacements in the scripts in bin/, text → text.
    substitutions: Mapping[str, str] = field(default_factory=dict)
    # Link → target, if the system lacks the library.
    fallbacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Return the version of the first wheel, which is the library's version."""
        return self.parts[0].version

    @property
    def label(self) -> str:
        """Return the name of the prefix and of the library in it."""
        return f"{self.implementation}-{self.version}"

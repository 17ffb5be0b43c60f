"""Capabilities of one version of an MPI library. Knobs query them instead of the library's name."""

from collections.abc import Mapping
from dataclasses import field

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
    looks_for_gpu_buffers: bool = False  # checks for each buffer if it is in GPU memory

    # Messages between nodes.
    network_libraries: tuple[str, ...] = ()  # compiled in and selectable
    network_libraries_on_node: tuple[str, ...] = ()  # subset that also carries messages within a node
    # Library → setting.
    network_library_variables: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    has_one_network: bool = False  # built for one kind of network; selects the adapters itself
    only_over_libfabric: bool = False
    interface_variables: tuple[str, ...] = ("FI_TCP_IFACE",)
    own_providers: tuple[str, ...] = ()  # providers of libfabric that only this library ships
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

"""Capabilities: what one version of an MPI library can do, which is what knobs ask instead of its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NodeSetting:
    """A variable that can keep ranks of a node from using shared memory.

    It lists components of which one of ``needed`` carries shared memory, ``^`` in front excluding all in the
    list; without ``needed`` it is a switch that turns shared memory off.
    """

    variable: str
    needed: tuple[str, ...] = ()


@dataclass(frozen=True)
class CollectiveComponents:
    """Parts of a library that can carry out its collective operations, the most promising first."""

    between_nodes: tuple[str, ...] = ()  # for jobs on several nodes
    on_node: tuple[str, ...] = ()  # where a node has several ranks
    everywhere: tuple[str, ...] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)  # value without it → its library
    without_messages: Mapping[str, str] = field(
        default_factory=dict
    )  # collective that ranks of a node carry out in shared memory → variable that changes it


@dataclass(frozen=True)
class Capabilities:
    """Facts of one version of an MPI implementation, declared in its file in ``mpis/``."""

    title: str = ""  # as its makers write it
    settings: frozenset[str] = frozenset()  # knobs that it can be set for

    # How ranks start and wait.
    binds_by_default: bool = True
    default_binding: tuple[str, str] = ("", "")  # values of `binding`: up to two ranks, more; "" not known
    maps_as_it_binds: bool = False  # deals ranks out to the level that it binds them to
    can_sleep: bool = False  # while it waits, not only yield
    waiting_switches: tuple[str, ...] = ()  # variables by which ranks give their CPU away while they wait
    yields_when_oversubscribed: bool = False  # yields CPUs if the launcher allows oversubscription
    helper_threads: int = 0  # of an idle rank: progress, process management

    # Messages on a node.
    always_shares_memory: bool = False
    has_node_only_transport: bool = False  # a setting under which no network is polled
    starts_light: bool = False  # opening networks takes little of the start-up, where it was measured
    node_settings: tuple[NodeSetting, ...] = ()
    single_copy: tuple[str, ...] = ()  # mechanisms other than the default
    single_copy_variable: str = ""  # "none" in it takes the default (CMA) away
    has_single_copy_threshold: bool = True
    cells_per_rank: int = 0  # of a pool of message buffers that each rank keeps, 0 without such a pool
    kernel_copy_from_bytes: int = 0  # messages of this size on are copied by the kernel, 0 when never
    eager_cuts_only: bool = False  # `eager-node` is a threshold, not the size of the parts of larger messages
    sizes_in_force: Mapping[str, int] = field(default_factory=dict)  # knob of a size → bytes by default
    node_buffers: str = ""  # messages that may be under way by default
    node_buffers_variable: str = ""
    memory_copies: tuple[str, ...] = ()  # routines to choose from
    looks_for_gpu_buffers: bool = False  # asks of each buffer whether it lies on a GPU

    # Messages between nodes.
    network_libraries: tuple[str, ...] = ()  # compiled in, to choose from
    network_libraries_on_node: tuple[str, ...] = ()  # of these, those that carry messages on one node too
    network_library_variables: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # library → setting
    has_one_network: bool = False  # made for one kind of network, whose adapters it knows
    only_over_libfabric: bool = False
    interface_variables: tuple[str, ...] = ("FI_TCP_IFACE",)
    own_providers: tuple[str, ...] = ()  # of libfabric, that only this library brings
    provider_variables: tuple[str, ...] = ("FI_PROVIDER",)  # the one that wins first
    tcp_only: Mapping[str, str] = field(default_factory=dict)  # variables; {interface}, {netmod}

    # Components that come and go with versions.
    component_variables: tuple[str, ...] = ()  # each lists components of one framework
    removed_components: frozenset[str] = frozenset()  # that earlier versions had

    # Collectives and files.
    collectives: CollectiveComponents = field(default_factory=CollectiveComponents)
    needed_to_switch_algorithms: Mapping[str, str] = field(
        default_factory=dict
    )  # variables, before MPI starts
    mpi_io: str = ""  # whose hints its MPI-IO obeys by default: "romio" or "ompio"
    io_implementations: tuple[str, ...] = ()  # of MPI-IO, where there are several
    io_variable: str = ""  # chooses among them
    io_signs: tuple[str, ...] = ()  # variables that only users of MPI-IO set
    drivers_switch: str = ""  # variable without which all files go through the driver for NFS

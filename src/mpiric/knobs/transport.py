"""What carries messages: on the node, between nodes, over which library and which network."""

from collections.abc import Mapping

from mpiric.knobs._declare import (
    always,
    no,
    promising,
    suits_every_program,
    suits_every_program_between_nodes,
    yes,
)
from mpiric.knobs._reading import (
    first_in_force,
    has_adapter,
    in_force,
    networks,
    rank_count,
    ranks_per_node,
    uses_ucx,
)
from mpiric.knobs._shared_memory import shared_memory_is_off
from mpiric.model.knob import Applicability, Choice, Knob, Name, Need, Promise, ResultsEffect
from mpiric.model.situation import Situation

_MECHANISMS = ("cma", "xpmem", "knem", "emulated", "none")
_GPU_RUNTIMES = ("libcuda.", "libcudart.", "libze_loader.", "libamdhip64.", "libhsa-runtime64.")
_BROUGHT = ("mlx",)  # providers that no libfabric of a system has, only some MPI libraries bring them
_ADAPTERS = "/sys/class/infiniband"
_DEVICES = {  # provider or transport → patterns of its adapter's name in sysfs
    "verbs": (f"{_ADAPTERS}/*",),
    "psm2": (f"{_ADAPTERS}/hfi1*",),
    "psm3": (f"{_ADAPTERS}/*",),
    "opx": (f"{_ADAPTERS}/hfi1*",),
    "mlx": (f"{_ADAPTERS}/mlx*",),
    "efa": (f"{_ADAPTERS}/efa*", f"{_ADAPTERS}/rdmap*"),
    "cxi": ("/sys/class/cxi/*",),
    "rc": (f"{_ADAPTERS}/*",),
    "dc": (f"{_ADAPTERS}/mlx5*",),
    "ud": (f"{_ADAPTERS}/*",),
    "xpmem": ("/dev/xpmem",),
    "knem": ("/dev/knem",),
}
_PROVIDERS = ("tcp", "verbs", "psm2", "psm3", "opx", "mlx", "efa", "cxi", "sockets", "shm")


def _interface(value: str) -> Need:
    return Need(f"network interface {value}", (f"/sys/class/net/{value}", f"{_ADAPTERS}/{value}"))


def _device(value: str) -> Need | None:
    paths = _DEVICES.get(value)
    return Need(f"device for {value} ({' or '.join(paths)})", paths) if paths else None


def _node_values(situation: Situation) -> tuple[str, ...]:
    values = ["shared-memory"] if shared_memory_is_off(situation) else []
    if situation.nodes == 1 and situation.mpi.capabilities.has_node_only_transport:
        values.append("shared-memory-only")
    return tuple(values)


def _node_applies(situation: Situation) -> Applicability:
    if ranks_per_node(situation) < 2:
        return no("one rank on a node has nobody to talk to there")
    if situation.mpi.capabilities.always_shares_memory:
        return no("the library always uses shared memory on a node")
    return yes("several ranks share a node")


def _node_promise(situation: Situation) -> Promise:
    if shared_memory_is_off(situation):
        because = f"shared memory is switched off ({shared_memory_is_off(situation)})"
        return Promise(0.95, because, ("shared-memory",))
    return Promise(0.25, "networks that a job on one node never uses are opened and polled all the same")


def _library_values(situation: Situation) -> tuple[str, ...]:
    can = situation.mpi.capabilities
    offered = can.network_libraries if situation.nodes > 1 else can.network_libraries_on_node
    forced = {
        library
        for library, (variable, value) in can.network_library_variables.items()
        if in_force(situation, variable) == value
    }
    return tuple(name for name in can.network_libraries if name in offered and name not in forced)


def _library_applies(situation: Situation) -> Applicability:
    if rank_count(situation) < 2:
        return no("one rank sends no messages")
    can = situation.mpi.capabilities
    if can.network_libraries and not can.network_libraries_on_node and situation.nodes == 1:
        return no(f"{can.title} uses the network module between nodes only")
    if not _library_values(situation):
        return no("the library has one transport layer only")
    return yes("several libraries for messages are compiled in")


def _library_promise(situation: Situation) -> Promise:
    if situation.nodes > 1:
        return Promise(0.6, "on a second network the library's own choice had 100 times the latency")
    return Promise(0.2, "the libraries differ in latency and in how they copy on the node")


def _single_copy_values(situation: Situation) -> tuple[str, ...]:
    can = situation.mpi.capabilities
    is_off = in_force(situation, can.single_copy_variable) == "none"
    return ("cma", *can.single_copy) if is_off else can.single_copy


def _single_copy_applies(situation: Situation) -> Applicability:
    if ranks_per_node(situation) < 2:
        return no("one rank on a node copies to nobody there")
    return yes("large messages on the node can be copied once by the kernel or twice through a buffer")


def _single_copy_promise(situation: Situation) -> Promise:
    if situation.observation.kernel_share > 0.2:
        because = f"{situation.observation.kernel_share:.0%} of the time is spent in the kernel"
        return Promise(0.4, because, ("none",))
    return Promise(
        0.2, "a matter of message sizes: the kernel's copy costs a call, the buffer's a second copy"
    )


def _gpu_applies(situation: Situation) -> Applicability:
    if not situation.mpi.capabilities.looks_for_gpu_buffers:
        return no("the library looks for GPU buffers only on request")
    if not situation.observation.ranks:
        return no("what the program loads is unknown")
    if any(situation.observation.loads(name) for name in _GPU_RUNTIMES):
        return no("the program loads a GPU runtime")
    return yes("the program loads no GPU runtime: asking whether a buffer is on a GPU is wasted")


def _interface_values(situation: Situation) -> tuple[str, ...]:
    forced = first_in_force(situation, situation.mpi.capabilities.interface_variables)
    by_itself = situation.observation.networks_used
    return tuple(nic.name for nic in networks(situation) if nic.name != forced and (nic.name,) != by_itself)[
        :4
    ]


def _interface_applies(situation: Situation) -> Applicability:
    can = situation.mpi.capabilities
    if can.has_one_network:
        return no(f"{can.title} knows its network's adapters")
    if situation.nodes < 2:
        return no("the job stays on one node")
    if len(networks(situation)) < 2:
        return no("there is one network")
    return yes("there are several networks")


def _interface_promise(situation: Situation) -> Promise:
    names = {nic.name for nic in networks(situation)}
    if measured := tuple(name for name in situation.observation.networks if name in names):
        return Promise(0.9, f"plain TCP between two of the nodes is best over {measured[0]}", measured[:1])
    first = tuple(nic.name for nic in networks(situation)[:1])
    return Promise(0.8, "on two networks the library's own choice had 100 times the latency", first)


def _names_applies(situation: Situation) -> Applicability:
    if situation.nodes < 2:
        return no("the job stays on one node")
    if not situation.host_names.others:
        return no("the command names no hosts, or they have no names on another network")
    return yes(f"the hosts have names on {', '.join(situation.host_names.others)} too")


def _names_promise(situation: Situation) -> Promise:
    best = tuple(n for n in situation.observation.networks if n in situation.host_names.others)
    own = situation.host_names.network or "a network unknown here"
    return Promise(0.3, f"hosts are named on {own}: some libraries talk over the network of the names", best)


def _provider_values(situation: Situation) -> tuple[str, ...]:
    can = situation.mpi.capabilities
    kinds = {nic.kind for nic in networks(situation)}
    fitting = ["psm2", "opx"] if "omni-path" in kinds else []
    fitting += ["verbs", "psm3", "mlx"] if kinds & {"infiniband", "roce"} else []
    fitting = [name for name in fitting if name not in _BROUGHT or name in can.own_providers]
    forced = first_in_force(situation, can.provider_variables)
    used = (forced.split(";")[0], situation.observation.provider_used)
    return tuple(name for name in (*fitting, "tcp") if name not in used)


def _provider_applies(situation: Situation) -> Applicability:
    can = situation.mpi.capabilities
    forced = first_in_force(situation, can.provider_variables)
    if can.has_one_network:
        return no(f"the libfabric of {can.title} is made for its one network")
    if not can.only_over_libfabric and "ofi" not in situation.mpi.transports:
        return no("the library is built without libfabric")
    if situation.nodes < 2 and not forced:
        return no("the job stays on one node")
    return yes("messages between nodes go through libfabric")


def _provider_promise(situation: Situation) -> Promise:
    if first_in_force(situation, situation.mpi.capabilities.provider_variables):
        return Promise(0.6, "a provider is forced from outside; another may fit this network")
    return Promise(0.4, "libfabric's choice is by its own order, not by measurement")


def _ucx_values(situation: Situation) -> tuple[str, ...]:
    values = ["all"] if in_force(situation, "UCX_TLS") not in (None, "all") else []
    if situation.nodes == 1:
        return (*values, "node")
    if has_adapter(situation):
        return (*values, "rc", "dc", "ud")
    return (*values, "tcp")


def _ucx_applies(situation: Situation) -> Applicability:
    if rank_count(situation) < 2:
        return no("one rank sends no messages")
    if not uses_ucx(situation):
        return no("the ranks do not load UCX")
    return yes("the ranks load UCX")


def _ucx_promise(situation: Situation) -> Promise:
    forced = in_force(situation, "UCX_TLS")
    if forced not in (None, "all"):
        return Promise(0.8, f"UCX is kept to {forced}", ("all",))
    return Promise(0.3, "UCX picks by tables: reliable or unreliable connections, few or many peers")


def _all_in_shared_memory(values: Mapping[str, str], _situation: Situation) -> bool:
    return values.get("node-transport") == "shared-memory-only"


def without_ucx(values: Mapping[str, str], situation: Situation) -> bool:
    """Whether other settings keep UCX from carrying messages: on one node, the library's own layer does."""
    own = situation.nodes == 1 and values.get("network-library") == "own"
    return own or _all_in_shared_memory(values, situation)


KNOBS = (
    Knob(
        name="node-transport",
        sentence="Whether ranks on one node talk through shared memory",
        why="Shared memory takes 0.3 µs where the loopback network takes 10 µs and more",
        source=(
            "Open MPI FAQ on the sm and vader transports, MPIR_CVAR_NOLOCAL and I_MPI_FABRICS as the "
            "libraries describe them; measured: two ranks, 8 bytes, 0.35 µs in shared memory"
        ),
        domain=Choice(("shared-memory", "shared-memory-only")),
        values=_node_values,
        applies=_node_applies,
        promise=_node_promise,
        results=ResultsEffect.CHECKED,
        site_default=lambda value, _: value != "shared-memory-only",
        matters_when=("node_ranks >= 2",),
        ceiling=("mpi_bound", "outside_bound"),
        helped_where=(("outside_bound", 0.95),),  # all 8 short ones of 12 under Open MPI 4.1: 1.05 to 1.7
        symptoms=("mpi_share", "point_to_point_share", "start_up_s"),
    ),
    Knob(
        name="network-library",
        sentence="The library below MPI that carries messages: its own, UCX, libfabric or PSM",
        why=(
            "They choose networks, protocols and thresholds differently; without-ofi leaves the choice to "
            "the library and does not open libfabric, which takes a second of Open MPI 5's start-up"
        ),
        source="Open MPI docs 'Network support' (pml, mtl), MPICH README (netmod); measured on two networks",
        domain=Choice(("own", "ucx", "ofi", "psm2", "without-ofi")),
        needs=_device,
        values=_library_values,
        applies=_library_applies,
        promise=_library_promise,
        site_default=suits_every_program_between_nodes,
        idle_beside=_all_in_shared_memory,
        ceiling=("mpi_bound", "outside_bound"),
        symptoms=("mpi_share", "start_up_s"),
    ),
    Knob(
        name="single-copy",
        sentence="How a large message on the node is copied straight from rank to rank",
        why="One copy by the kernel saves bandwidth; two through a shared buffer save the call and its locks",
        source=(
            "btl_vader_single_copy_mechanism and smsc in the Open MPI docs, MPIR_CVAR_CH4_CMA_ENABLE, "
            "I_MPI_SHM_CMA, MV2_SMP_USE_CMA, MPICH_SMP_SINGLE_COPY_MODE"
        ),
        domain=Choice(_MECHANISMS),
        needs=_device,
        values=_single_copy_values,
        applies=_single_copy_applies,
        promise=_single_copy_promise,
        site_default=suits_every_program,
        matters_when=("node_message_bound > 0", "largest_node_message_bytes >= 4096"),
        ceiling=("node_message_bound",),
        symptoms=("point_to_point_share", "system_share"),
    ),
    Knob(
        name="gpu-buffers",
        sentence="Whether MPI asks of each buffer if it lies on a GPU",
        why="The question costs time in every call; a program without GPU never needs the answer",
        source="MPIR_CVAR_ENABLE_GPU as MPICH describes it; MPICH_GPU_SUPPORT_ENABLED in Cray's intro_mpi(3)",
        domain=Choice(("off",)),
        values=always("off"),
        applies=_gpu_applies,
        promise=promising(0.1, "a GPU runtime may be looked for in vain"),
        matters_when=("gpu_ranks < 1",),
        ceiling=("mpi_bound", "outside_bound"),
        symptoms=("mpi_share", "start_up_s"),
    ),
    Knob(
        name="network-interface",
        sentence="The network interface that carries messages between nodes",
        why="Libraries pick the first interface or spread over all: the slow one decides",
        source=(
            "measured on two networks: MPICH took the one with 100 times the latency, Open MPI spread over "
            "both at 1/12 of the bandwidth; Open MPI issues 30, 10397, 12323, UCX issues 4929, 8740"
        ),
        domain=Name(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}"),
        needs=_interface,
        values=_interface_values,
        applies=_interface_applies,
        promise=_interface_promise,
        site_default=suits_every_program_between_nodes,
        matters_when=("nodes >= 2",),
        ceiling=("network_bound", "outside_bound"),
        symptoms=("mpi_share",),
    ),
    Knob(
        name="host-names",
        sentence="By their names on which network the hosts are called in host lists and host files",
        why="Launchers reach hosts by these names, and some libraries send their messages to them as well",
        source=(
            "MPICH CH3, tcp_init.c: MPIR_CVAR_CH3_INTERFACE_HOSTNAME, set by hydra to the name it is given; "
            "site documentations that name nodes twice (kp001, kp001.ipoib)"
        ),
        domain=Name(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}"),
        needs=_interface,
        values=lambda situation: tuple(situation.host_names.others)[:4],
        applies=_names_applies,
        promise=_names_promise,
        matters_when=("nodes >= 2",),
        ceiling=("network_bound", "outside_bound"),
        symptoms=("mpi_share",),
    ),
    Knob(
        name="ofi-provider",
        sentence="The libfabric provider that carries messages between nodes",
        why="Providers of one network differ in latency, and one for another network is slow or fails",
        source="fi_provider(7), Intel MPI Developer Reference 'OFI-capable Network Fabrics Control'",
        domain=Choice(_PROVIDERS),
        needs=_device,
        values=_provider_values,
        applies=_provider_applies,
        promise=_provider_promise,
        site_default=suits_every_program_between_nodes,
        matters_when=("nodes >= 2",),
        ceiling=("network_bound", "outside_bound"),
        symptoms=("mpi_share",),
    ),
    Knob(
        name="ucx-transports",
        sentence="The transports UCX may use",
        why="Connections (rc) are fast for few peers, dynamic or unconnected ones (dc, ud) scale to many",
        source="UCX documentation, 'Transports' in the FAQ (UCX_TLS); UCX issues 10049, 11091",
        domain=Choice(("all", "node", "tcp", "rc", "dc", "ud")),
        needs=_device,
        values=_ucx_values,
        applies=_ucx_applies,
        promise=_ucx_promise,
        site_default=suits_every_program_between_nodes,
        idle_beside=without_ucx,
        matters_when=("ucx_carries >= 1",),
        ceiling=("ucx_bound",),
        symptoms=("point_to_point_share", "mpi_share"),
    ),
)

"""Transports of messages: within nodes, between nodes, libraries and networks."""

import re
from collections.abc import Mapping

from mpiric.knobs._declaration import knob
from mpiric.model.amount import share, size
from mpiric.model.knob import (
    Choice,
    Name,
    Need,
    ResultsEffect,
    Skip,
    Try,
    suits_every_program,
    suits_every_program_between_nodes,
)
from mpiric.model.mpi_library import NodeSetting
from mpiric.model.profile import Carriers
from mpiric.model.situation import Situation

_MECHANISMS = ("cma", "xpmem", "knem", "emulated", "none")
_ADAPTERS = "/sys/class/infiniband"
_DEVICES = {  # provider or transport → patterns of its adapter's name in sysfs
    "verbs": (f"{_ADAPTERS}/*",),
    "psm2": (f"{_ADAPTERS}/hfi1*",),
    "psm3": (f"{_ADAPTERS}/*",),
    "opx": (f"{_ADAPTERS}/hfi1*",),
    "mlx": (f"{_ADAPTERS}/mlx*",),
    "efa": (f"{_ADAPTERS}/efa*", f"{_ADAPTERS}/rdmap*"),
    "cxi": ("/sys/class/cxi/*",),
    "lnx": ("/sys/class/cxi/*",),
    "rc": (f"{_ADAPTERS}/*",),
    "dc": (f"{_ADAPTERS}/mlx5*",),
    "ud": (f"{_ADAPTERS}/*",),
    "xpmem": ("/dev/xpmem",),
    "knem": ("/dev/knem",),
}
_PROVIDERS = ("tcp", "verbs", "ucx", "psm2", "psm3", "opx", "mlx", "efa", "cxi", "lnx", "sockets", "shm")


def _interface(value: str) -> Need:
    return Need(f"network interface {value}", (f"/sys/class/net/{value}", f"{_ADAPTERS}/{value}"))


def _device(value: str) -> Need | None:
    paths = _DEVICES.get(value)
    return Need(f"device for {value} ({' or '.join(paths)})", paths) if paths else None


def _consider_node_transport(situation: Situation) -> Skip | Try:
    can, setting = situation.mpi.capabilities, shared_memory_is_off(situation)
    if situation.ranks_per_node < 2:
        return Skip("one rank per node sends no messages on its node")
    if can.always_shares_memory:
        return Skip("the library always uses shared memory on a node")
    if situation.shown("node_ranks") < 2:
        return Skip("each rank has a node of its own")
    values = ("shared-memory",) if setting else ()
    if situation.nodes == 1 and can.has_node_only_transport:
        values = (*values, "shared-memory-only")
    if setting:
        return Try(values, 0.95, f"shared memory is switched off ({setting})", ("shared-memory",))
    because = "networks that a job on one node never uses are opened and polled all the same"
    return Try(values, 0.25, because)


def _consider_network_library(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    if situation.rank_count < 2:
        return Skip("one rank sends no messages")
    if can.network_libraries and not can.network_libraries_on_node and situation.nodes == 1:
        return Skip(f"{can.title} uses the network module between nodes only")
    offered = can.network_libraries if situation.nodes > 1 else can.network_libraries_on_node
    forced = {
        library
        for library, (variable, value) in can.network_library_variables.items()
        if situation.in_force(variable) == value
    }
    values = tuple(name for name in can.network_libraries if name in offered and name not in forced)
    if not values:
        return Skip("the library has one transport layer only")
    if situation.nodes > 1:
        because = "on a second network the library's own choice had 100 times the latency"
        return Try(values, 0.6, because)
    return Try(values, 0.2, "the libraries differ in latency and in how they copy on the node")


def _consider_single_copy(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    if situation.ranks_per_node < 2:
        return Skip("one rank per node copies no messages on its node")
    if situation.shown("node_message_bound") <= 0:
        return Skip("no message is sent on a node")
    if (largest := situation.shown("largest_node_message_bytes")) < 4096:
        return Skip(f"no message on a node is larger than {size(largest)}")
    is_off = situation.in_force(can.single_copy_variable) == "none"
    values = ("cma", *can.single_copy) if is_off else can.single_copy
    in_kernel = situation.observation.kernel_share
    if in_kernel > 0.2:
        return Try(values, 0.4, f"{share(in_kernel)} of the time is spent in the kernel", ("none",))
    because = "a matter of message sizes: the kernel's copy costs a call, the buffer's a second copy"
    return Try(values, 0.2, because)


def _on_one_node(situation: Situation) -> str:
    if situation.nodes < 2:
        return "the job stays on one node"
    return "" if situation.shown("nodes") >= 2 else "the job runs on one node"


def _consider_interface(situation: Situation) -> Skip | Try:
    can, observation, networks = situation.mpi.capabilities, situation.observation, situation.machine.networks
    if can.has_one_network:
        return Skip(f"{can.title} knows its network's adapters")
    if reason := _on_one_node(situation):
        return Skip(reason)
    if len(networks) < 2:
        return Skip("there is one network")
    names = [nic.name for nic in networks]
    forced = situation.first_in_force(can.interface_variables)
    values = tuple(name for name in names if name != forced and (name,) != observation.networks_used)[:4]
    if measured := tuple(name for name in observation.networks if name in names)[:1]:
        return Try(values, 0.9, f"plain TCP between two of the nodes is best over {measured[0]}", measured)
    because = "on two networks the library's own choice had 100 times the latency"
    return Try(values, 0.8, because, tuple(names[:1]))


def _consider_host_names(situation: Situation) -> Skip | Try:
    if reason := _on_one_node(situation):
        return Skip(reason)
    names = situation.host_names
    if not names.names_by_interface:
        return Skip("the command names no hosts, or they have no names on another network")
    best = tuple(name for name in situation.observation.networks if name in names.names_by_interface)
    network = names.network or "a network unknown here"
    because = f"hosts are named on {network}: some libraries talk over the network of the names"
    return Try(tuple(names.names_by_interface)[:4], 0.3, because, best)


def _consider_provider(situation: Situation) -> Skip | Try:
    can = situation.mpi.capabilities
    forced = situation.first_in_force(can.provider_variables)
    if can.has_one_network:
        return Skip(f"the libfabric of {can.title} is made for its one network")
    if not can.only_over_libfabric and "ofi" not in situation.mpi.transports:
        return Skip("the library is built without libfabric")
    if situation.nodes < 2 and not forced:
        return Skip("the job stays on one node")
    if situation.shown("nodes") < 2:
        return Skip("the job runs on one node")
    kinds = {nic.kind for nic in situation.machine.networks}
    fitting = ["psm2", "opx"] if "omni-path" in kinds else []
    fitting += ["verbs", "psm3", "ucx", "mlx"] if kinds & {"infiniband", "roce"} else []
    # Through libfabric, Open MPI sends messages within a node through the adapter; lnx adds shared memory.
    fitting += ["lnx"] if "slingshot" in kinds and "own" in can.network_libraries else []
    fitting = [name for name in fitting if name in can.providers or (name != "mlx" and not can.providers)]
    used = (forced.split(";")[0], situation.observation.provider_used)
    values = tuple(name for name in (*fitting, "tcp") if name not in used)
    if forced:
        return Try(values, 0.6, "a provider is forced from outside; another may fit this network")
    return Try(values, 0.4, "libfabric's choice is by its own order, not by measurement")


def _no_ucx(situation: Situation) -> str:
    """Return why a setting of UCX has no effect, "" if UCX may carry messages."""
    if situation.rank_count < 2:
        return "one rank sends no messages"
    if not situation.uses_ucx:
        return "the ranks do not load UCX"
    behaviour = situation.observation.behaviour
    if behaviour is None or situation.shown("ucx_carries") >= 1:
        return ""
    reason, carriers = "no message goes through UCX", behaviour.carriers
    if "network" in carriers.ucx:
        return f"{reason} (it serves messages between nodes)"
    return f"{reason} (the library reports {carriers.transport})" if carriers.transport else reason


def _consider_ucx(situation: Situation) -> Skip | Try:
    if reason := _no_ucx(situation):
        return Skip(reason)
    forced = situation.in_force("UCX_TLS")
    values = ("all",) if forced not in (None, "all") else ()
    if situation.nodes == 1:
        values = (*values, "node")
    else:
        values = (*values, *(("rc", "dc", "ud") if situation.has_adapter else ("tcp",)))
    if forced not in (None, "all"):
        return Try(values, 0.8, f"UCX is kept to {forced}", ("all",))
    return Try(values, 0.3, "UCX picks by tables: reliable or unreliable connections, few or many peers")


def _all_in_shared_memory(values: Mapping[str, str], _situation: Situation) -> bool:
    return values.get("node-transport") == "shared-memory-only"


def without_ucx(values: Mapping[str, str], situation: Situation) -> bool:
    """Return whether other settings exclude UCX: within one node the library may use its own layer."""
    is_own_layer = situation.nodes == 1 and values.get("network-library") == "own"
    return is_own_layer or _all_in_shared_memory(values, situation)


KNOBS = (
    knob(
        "node-transport",
        Choice(("shared-memory", "shared-memory-only")),
        _consider_node_transport,
        results=ResultsEffect.CHECKED,
        site_default=lambda value, _: value != "shared-memory-only",
        helped_where=(("outside_bound", 0.95),),  # all 8 short programs of 12 with Open MPI 4.1: 1.05 to 1.7
    ),
    knob(
        "network-library",
        Choice(("own", "ucx", "ofi", "psm2", "without-ofi")),
        _consider_network_library,
        needs=_device,
        site_default=suits_every_program_between_nodes,
        idle_beside=_all_in_shared_memory,
    ),
    knob(
        "single-copy",
        Choice(_MECHANISMS),
        _consider_single_copy,
        needs=_device,
        site_default=suits_every_program,
    ),
    knob(
        "network-interface",
        Name(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}"),
        _consider_interface,
        needs=_interface,
        site_default=suits_every_program_between_nodes,
    ),
    knob("host-names", Name(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}"), _consider_host_names, needs=_interface),
    knob(
        "ofi-provider",
        Choice(_PROVIDERS),
        _consider_provider,
        needs=_device,
        site_default=suits_every_program_between_nodes,
    ),
    knob(
        "ucx-transports",
        Choice(("all", "node", "tcp", "rc", "dc", "ud")),
        _consider_ucx,
        needs=_device,
        site_default=suits_every_program_between_nodes,
        idle_beside=without_ucx,
    ),
)


def shared_memory_is_off(situation: Situation) -> str:
    """Return the user's setting that prevents ranks of a node from using shared memory; "" without one."""
    for setting in situation.mpi.capabilities.node_settings:
        value = situation.in_force(setting.variable)
        if not setting.needed and situation.is_on(setting.variable):
            return f"{setting.variable}=1"
        if setting.needed and value and not _has_shared_memory(setting, value):
            return f"{setting.variable}={value}"
    return ""


def _has_shared_memory(setting: NodeSetting, components: str) -> bool:
    names = re.split(r"[,:]", components.strip().lstrip("^"))
    is_listed = any(name.strip() in setting.needed for name in names)
    return is_listed is not components.strip().startswith("^")


_EVERYWHERE = frozenset({"node", "network"})
_COMPONENT = "mca_pml_"  # components in files of their own: unselected ones are unloaded again


def carriers(situation: Situation, transport: str) -> Carriers:
    """Return the carriers of messages. ``transport``: layers that the library reported, or ""."""
    return Carriers(transport, _through_ucx(situation, transport.split()), _without_messages(situation))


def _through_ucx(situation: Situation, reported: list[str]) -> frozenset[str]:
    """Return the reaches that UCX may carry, including unknown ones."""
    if not situation.uses_ucx:
        return frozenset()
    if reported:
        if {"ucx", "uct"} & set(reported):
            return _EVERYWHERE
        # A libfabric provider may use UCX.
        return frozenset({"network"}) if "ofi" in reported else frozenset()
    if situation.observation.loads(_COMPONENT):
        return _EVERYWHERE if situation.observation.loads(f"{_COMPONENT}ucx") else frozenset({"network"})
    can = situation.mpi.capabilities
    if "ucx" in can.network_libraries_on_node or shared_memory_is_off(situation):
        return _EVERYWHERE
    return frozenset({"network"})


def _without_messages(situation: Situation) -> frozenset[str]:
    """Return the collectives that ranks of one node perform in shared memory with the current settings."""
    offered = situation.mpi.capabilities.collectives.without_messages
    if shared_memory_is_off(situation):
        return frozenset()
    return frozenset(name for name, variable in offered.items() if situation.in_force(variable) is None)

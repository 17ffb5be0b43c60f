"""Topology and request → Plan. Pure function."""

from collections.abc import Iterable
from dataclasses import replace

from mpiric.model.amount import counted
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Core, Cores, CoreSet, Level, Topology
from mpiric.model.placement import (
    Bandwidth,
    Devices,
    Gpu,
    HardwareThreads,
    PlacementRequest,
    Plan,
    Saturation,
    Seat,
)
from mpiric.placement.devices import adapters_of, read_devices
from mpiric.placement.policies import PlacementDemand, gpu_of, policy_named
from mpiric.placement.sizing import rule_of_thumb, saturation_of, size


def price_of_more_nodes(plan: Plan, available: CoreSet) -> tuple[str, ...]:
    """Return a note on core-hours and bandwidth compared with full nodes; empty if the nodes are full."""
    width = plan.threads
    fewest = -(-plan.request.ranks * width // len(available.cores))
    if plan.policy != "bandwidth" or plan.nodes <= fewest:
        return ()
    cores = len(plan.topology.cores)
    times = plan.nodes / fewest
    sentence = (
        f"{plan.nodes} nodes instead of {fewest}: one hour costs {plan.nodes * cores} core-hours instead of "
        f"{fewest * cores}, which pays off if the job runs more than {times:.2f} × as fast"
    )
    gain = bandwidth_gain(plan, plan.request.measured, fewest)
    return (sentence + (f"; each rank gets {gain:.2f} × the memory bandwidth" if gain else ""),)


def bandwidth_gain(plan: Plan, measured: tuple[Bandwidth, ...], fewest_nodes: int) -> float:
    """Return the measured bandwidth per rank relative to full nodes; 0 without a measurement."""
    saturation = plan.saturation
    if not measured or saturation is None or not saturation.all_cores_mb_s:
        return 0.0
    return (plan.nodes * saturation.mb_s) / (fewest_nodes * saturation.all_cores_mb_s)


def select(
    topology: Topology, allowed: tuple[int, ...], request: PlacementRequest
) -> tuple[CoreSet, tuple[str, ...]]:
    """Return the usable cores, and notes on excluded ones. Raises MpiricError if none remains."""
    usable = set(allowed)
    reachable = (replace(core, pus=tuple(pu for pu in core.pus if pu in usable)) for core in topology.cores)
    cores = [core for core in reachable if core.pus]
    cores, system_notes = _without_system_cores(cores, request.leave_cores)
    cores, kind_notes = _of_kind(cores, request)
    if not cores:
        raise MpiricError(
            "no core remains to place ranks on", hint="use a smaller --leave-cores, or another --core-kind"
        )
    return CoreSet(topology, tuple(cores)), (*system_notes, *kind_notes)


def _without_system_cores(cores: list[Core], number: int) -> tuple[list[Core], tuple[str, ...]]:
    """Reserve the last core of the fullest NUMA node, repeatedly, so that the nodes stay equal."""
    reserved: list[Core] = []
    for _ in range(min(number, len(cores))):
        counts: dict[int, int] = {}
        for core in cores:
            counts[core.numa_node] = counts.get(core.numa_node, 0) + 1
        fullest = max(counts, key=lambda node: (counts[node], node))
        last = [core for core in cores if core.numa_node == fullest][-1]
        cores = [core for core in cores if core is not last]
        reserved.append(last)
    if not reserved:
        return cores, ()
    numbers = ", ".join(str(core.index) for core in sorted(reserved, key=lambda core: core.index))
    return cores, (f"reserved for the system: core {numbers}",)


def _of_kind(cores: list[Core], request: PlacementRequest) -> tuple[list[Core], tuple[str, ...]]:
    """Use only performance cores if they suffice, because the slowest core delays all others."""
    kinds = {core.kind for core in cores}
    if len(kinds) < 2 or request.core_kind == "any":
        return cores, ()
    if request.core_kind:
        chosen = [core for core in cores if core.kind == request.core_kind]
        return chosen, (f"only {request.core_kind} cores are used",)
    fast = [core for core in cores if core.kind == "performance"]
    needed = -(-request.ranks // max(1, request.nodes)) * max(1, request.threads)
    room = (
        sum(len(core.pus) for core in fast) if request.hardware_threads is HardwareThreads.ALL else len(fast)
    )
    if needed <= room:
        return fast, (
            f"the {len(cores) - len(fast)} efficiency cores stay free, as they would slow down all others",
        )
    slow = [core for core in cores if core.kind != "performance"]
    used = {core.index for core in (*fast, *slow[: needed - room])}
    return [core for core in cores if core.index in used], ()


def plan(
    topology: Topology,
    request: PlacementRequest,
    usable: Iterable[int] = (),
    quota: float = 0.0,
    devices: Devices | None = None,
) -> Plan:
    """Return the hardware threads for each thread of each rank, its GPU and its network adapters.

    ``usable`` are the hardware threads that affinity and control group allow, all if empty. ``quota`` is the
    CPU time per second that the control group grants, 0 if unlimited. ``devices`` are by default those in the
    XML of the topology.
    Raises MpiricError if the ranks do not fit.
    """
    allowed = tuple(sorted(set(usable) & set(topology.pus))) or topology.pus
    gpus, adapters = devices or read_devices(topology)
    name = request.policy or _choose_policy(request, gpus)
    policy = policy_named(name)
    available, selection_notes = select(topology, allowed, request)
    saturation, saturation_notes = _saturation(topology, request, name)
    sizing = size(available, request, saturation, shares_out=policy.shares_out)
    demand = PlacementDemand(sizing.per_node, sizing.threads, saturation, gpus)
    arranged = policy.seat(sizing.available, demand)
    if arranged is None and not request.policy:
        name = "spread"
        arranged = policy_named(name).seat(sizing.available, demand)
    if arranged is None:
        raise MpiricError(
            f"{sizing.per_node} ranks of {sizing.threads} threads do not fit on a node with policy {name}",
            hint="use --policy spread or compact, or fewer ranks or threads",
        )
    seats = tuple(_seat(topology, cores, sizing.mode) for cores in arranged)
    if name == "near-gpu":
        seats = tuple(replace(s, gpu=gpu_of(i, len(seats), len(gpus))) for i, s in enumerate(seats))
    chosen = adapters_of(topology, seats, gpus, adapters)
    seats = tuple(replace(seat, adapters=names) for seat, names in zip(seats, chosen, strict=True))
    placed = Plan(request, topology, name, sizing.nodes, seats, allowed, (), saturation, gpus)
    notes = (
        *selection_notes,
        *sizing.notes,
        *saturation_notes,
        *_notes(placed, quota),
        *price_of_more_nodes(placed, available),
    )
    return replace(placed, notes=notes)


def _choose_policy(request: PlacementRequest, gpus: tuple[Gpu, ...]) -> str:
    if request.bandwidth_bound:
        return "bandwidth"
    return "near-gpu" if gpus else "spread"


def _saturation(
    topology: Topology, request: PlacementRequest, policy: str
) -> tuple[Saturation | None, tuple[str, ...]]:
    if policy != "bandwidth":
        return None, ()
    if measured := saturation_of(request.measured):
        return measured, (
            f"measured: {measured.cores} cores of a NUMA node, {_every(measured.spacing)}, "
            f"reach its full bandwidth of {measured.mb_s:.0f} MB/s",
        )
    largest = max(len(d.cores) for d in CoreSet(topology, topology.cores).domains(Level.NUMA))
    return rule_of_thumb(largest), (
        "every second core is used by a rule of thumb; to measure this machine: mpiric place --measure",
    )


def _every(spacing: int) -> str:
    names = {1: "side by side", 2: "every second one", 3: "every third one", 4: "every fourth one"}
    return names.get(spacing, f"every {spacing}th one")


def _seat(topology: Topology, cores: Cores, mode: HardwareThreads) -> Seat:
    takes_first = mode is HardwareThreads.ONE
    threads = tuple(core.pus[:1] if takes_first else core.pus for core in cores)
    indices = {core.index for core in cores}
    nodes = [core.numa_node for core in cores]
    return Seat(
        threads,
        tuple(core for core in topology.cores if core.index in indices),
        max(sorted(set(nodes)), key=nodes.count),
    )


def _notes(placed: Plan, quota: float) -> tuple[str, ...]:
    notes = []
    straddling = sum(len({core.numa_node for core in seat.cores}) > 1 for seat in placed.seats)
    if straddling:
        notes.append(
            f"{counted(straddling, 'rank')} on cores of several NUMA nodes: part of the memory will be remote"
        )
    kinds = {core.kind for seat in placed.seats for core in seat.cores}
    if len(kinds) > 1:
        notes.append(
            "some threads run on efficiency cores, which delay all others where ranks or threads synchronise"
        )
    used = len({pu for seat in placed.seats for pu in seat.pus})
    busy = min(used, placed.ranks_per_node * placed.threads)
    if quota and quota < busy:
        notes.append(f"the control group grants {quota:g} CPUs of time, so {busy} threads will be throttled")
    if len(placed.usable) < len(placed.topology.pus):
        outside = counted(len(placed.topology.pus) - len(placed.usable), "hardware thread")
        notes.append(f"{outside} of the node are outside the affinity mask and control group of the job")
    return tuple(notes)

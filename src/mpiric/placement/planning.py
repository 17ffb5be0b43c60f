"""Topology and request → Plan. Pure function."""

from collections.abc import Iterable
from dataclasses import replace

from mpiric.model.errors import MpiricError
from mpiric.model.machine import Cores, CoreSet, Level, Topology
from mpiric.model.placement import Gpu, HardwareThreads, PlacementRequest, Plan, Saturation, Seat
from mpiric.placement.gpus import read_gpus
from mpiric.placement.node import counted
from mpiric.placement.policies import PlacementDemand, policy_named
from mpiric.placement.policies.near_gpu import gpu_of
from mpiric.placement.price import price_of_more_nodes
from mpiric.placement.saturation import rule_of_thumb, saturation_of
from mpiric.placement.selection import select
from mpiric.placement.sizing import size


def plan(
    topology: Topology,
    request: PlacementRequest,
    usable: Iterable[int] = (),
    quota: float = 0.0,
    gpus: tuple[Gpu, ...] = (),
) -> Plan:
    """Return the hardware threads for each thread of each rank.

    ``usable`` are the hardware threads that affinity and control group allow, all if empty. ``quota`` is the
    CPU time per second that the control group grants, 0 if unlimited.
    Raises MpiricError if the ranks do not fit.
    """
    allowed = tuple(sorted(set(usable) & set(topology.pus))) or topology.pus
    gpus = gpus or read_gpus(topology)
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

"""Topology and request → Plan. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from mpiric.model.core_set import Cores, CoreSet, Level
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Topology
from mpiric.model.placement import Gpu, HardwareThreads, PlacementRequest, Plan, Saturation, Seat
from mpiric.placement.gpus import read_gpus
from mpiric.placement.node import counted
from mpiric.placement.policies import Wanted, policy_named
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
    """Which hardware threads every thread of every rank gets.

    ``usable`` are the hardware threads that affinity and control group leave, all when empty; ``quota`` is
    the CPU time the control group grants per second, 0 when unlimited.
    Raises MpiricError when it does not fit.
    """
    allowed = tuple(sorted(set(usable) & set(topology.pus))) or topology.pus
    gpus = gpus or read_gpus(topology)
    name = request.policy or _choose_policy(request, gpus)
    policy = policy_named(name)
    available, selected = select(topology, allowed, request)
    saturation, why = _saturation(topology, request, name)
    sizing = size(available, request, saturation, shares_out=policy.shares_out)
    wanted = Wanted(sizing.per_node, sizing.threads, saturation, gpus)
    arranged = policy.seat(sizing.available, wanted)
    if arranged is None and not request.policy:
        name = "spread"
        arranged = policy_named(name).seat(sizing.available, wanted)
    if arranged is None:
        raise MpiricError(
            f"{sizing.per_node} ranks of {sizing.threads} threads do not fit where policy {name} wants them",
            hint="--policy spread or compact, or fewer ranks or threads",
        )
    seats = tuple(_seat(topology, own, sizing.mode) for own in arranged)
    if name == "near-gpu":
        seats = tuple(replace(s, gpu=gpu_of(i, len(seats), len(gpus))) for i, s in enumerate(seats))
    made = Plan(request, topology, name, sizing.nodes, seats, allowed, (), saturation, gpus)
    notes = (*selected, *sizing.notes, *why, *_notes(made, quota), *price_of_more_nodes(made, available))
    return replace(made, notes=notes)


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
            f"draw {measured.mb_s:.0f} MB/s, its whole bandwidth",
        )
    largest = max(len(d.cores) for d in CoreSet(topology, topology.cores).domains(Level.NUMA))
    return rule_of_thumb(largest), (
        "every second core is a rule of thumb, not a measurement of this machine: mpiric place --measure",
    )


def _every(spacing: int) -> str:
    words = {1: "side by side", 2: "every second one", 3: "every third one", 4: "every fourth one"}
    return words.get(spacing, f"every {spacing}th one")


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


def _notes(made: Plan, quota: float) -> tuple[str, ...]:
    notes = []
    straddling = sum(len({core.numa_node for core in seat.cores}) > 1 for seat in made.seats)
    if straddling:
        notes.append(
            f"{counted(straddling, 'rank')} on cores of several NUMA nodes: part of that memory is far"
        )
    kinds = {core.kind for seat in made.seats for core in seat.cores}
    if len(kinds) > 1:
        notes.append(
            "some threads run on efficiency cores: where all wait for each other, those set the pace"
        )
    used = len({pu for seat in made.seats for pu in seat.pus})
    busy = min(used, made.ranks_per_node * made.threads)
    if quota and quota < busy:
        notes.append(
            f"the control group grants {quota:g} CPUs' worth of time: {busy} threads will be throttled"
        )
    if len(made.usable) < len(made.topology.pus):
        outside = counted(len(made.topology.pus) - len(made.usable), "hardware thread")
        notes.append(f"outside of what may be used: {outside}")
    return tuple(notes)

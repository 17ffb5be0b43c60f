"""Search for a rank order: the engine maps traffic onto a machine, the result is checked and predicted."""

import math
from pathlib import Path

import numpy as np

from mpiric.host.host import Host
from mpiric.mapping.engine import EngineProblem, EngineSettings, SharedUse, link_routes, run_engine
from mpiric.mapping.objectives import engine_task, link_use, objective_value, predicted_time
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import (
    MachineSlots,
    MachineSpec,
    Mapped,
    Numbers,
    OrderCost,
    OrderProposal,
    RankGraph,
    Weights,
    hop_bytes,
    off_node_weight,
)
from mpiric.workflows.mapping.machine import record_on_machine
from mpiric.workflows.mapping.record import recorded_traffic


@dataclass(frozen=True)
class MapRequest:
    """Request for a mapping: traffic, machine and method."""

    graph: RankGraph
    machine: MachineSlots
    slots_before: Numbers | None = None  # current slot of each rank; None: consecutive
    imbalance: float | None = None  # permitted imbalance in the general problem
    preset: str = "eco"
    objective: str = "hop-bytes"
    threads: int = 1
    seed: int = 1
    limit_s: float = 0.0  # 0: determined by the preset
    uses: Weights | None = None  # use of a resource of the node by each rank


def map_ranks(request: MapRequest, host: Host) -> Mapped:
    """Find an order that is at least as good as the current one, and predict its effects."""
    graph, tree = request.graph, request.machine.tree
    capacity = _capacity(request)
    slots_before = _slots_before(request, capacity)
    settings = EngineSettings(
        preset=request.preset,
        objective=engine_task(request.objective, graph, tree).objective,
        threads=request.threads,
        seed=request.seed,
        capacity=capacity,
        limit_s=request.limit_s,
    )
    with np.errstate(over="ignore"):
        before = order_cost(request, slots_before)
    if not math.isfinite(before.hop_bytes):
        raise MpiricError("weights × distances overflow", hint="use smaller weights, or smaller --distances")
    answer = run_engine(host, _problem(request, slots_before, capacity), settings)
    slots = answer.slots
    if len(slots) != graph.size or slots.min() < 0 or slots.max() >= tree.slots:
        raise AssertionError("the engine's order is not a valid order")
    loads = np.bincount(slots, weights=graph.rank_weights, minlength=tree.slots)
    current = answer.proposals.get("given", 0.0)
    return Mapped(
        slots=slots,
        slots_before=slots_before,
        after=order_cost(request, slots),
        before=before,
        goal=request.objective,
        algorithm=answer.algorithm,
        proposals={name: value / current if current else 1.0 for name, value in answer.proposals.items()},
        seconds=answer.seconds,
        heaviest_slot=int(loads.max()),
        capacity=capacity,
        costs_source=request.machine.costs_source,
    )


def order_cost(request: MapRequest, slots: Numbers) -> OrderCost:
    """Return the cost of an order on the machine, by the request's objective and by the time model."""
    graph, machine = request.graph, request.machine
    time = predicted_time(graph, machine, slots) if machine.has_costs else None
    links = link_use(graph, machine, slots)
    uses = np.zeros(graph.size) if request.uses is None else request.uses
    return OrderCost(
        hop_bytes=hop_bytes(graph, machine.tree, slots),
        off_node=off_node_weight(graph, machine.tree, slots),
        goal=objective_value(request.objective, graph, machine, slots),
        heaviest_use=float(np.bincount(machine.tree.nodes[slots], weights=uses).max()),
        time_s=None if time is None else time.seconds,
        busiest="" if time is None else time.busiest,
        link_loads=None if links is None else links.loads,
        busiest_links=() if links is None else links.names,
    )


def _problem(request: MapRequest, slots_before: Numbers, capacity: int) -> EngineProblem:
    machine = request.machine
    task = engine_task(request.objective, request.graph, machine.tree, machine.nics)
    routes = link_routes(machine) if request.objective == "worst-link" else None
    if request.uses is None:
        return EngineProblem(task.graph, task.tree, slots_before, routes)
    if capacity:
        raise MpiricError(
            "--spread needs a slot for each rank",
            hint="describe a machine with as many slots as ranks",
        )
    if len(request.uses) != request.graph.size:
        raise MpiricError(
            f"--spread has {len(request.uses)} numbers for {request.graph.size} ranks",
            hint="write a number for each rank",
        )
    return EngineProblem(
        task.graph, task.tree, slots_before, routes, SharedUse(task.tree.node_level, request.uses)
    )


def _capacity(request: MapRequest) -> int:
    """Return the maximum weight of a slot; 0 if there are as many ranks as slots, so that each takes one."""
    ranks, slots = request.graph.size, request.machine.tree.slots
    if ranks < slots:
        raise MpiricError(
            f"{ranks} ranks and {slots} slots: some slots would stay empty",
            hint="give a hierarchy with as many slots as ranks, or fewer",
        )
    if ranks == slots:
        return 0
    total = int(request.graph.rank_weights.sum())
    imbalance = 0.03 if request.imbalance is None else request.imbalance
    share = math.ceil(total / slots)
    allowed = math.floor(min(share * (1 + imbalance) + 1e-9, total))
    return max(share, allowed, int(request.graph.rank_weights.max()), 1)


def _slots_before(request: MapRequest, capacity: int) -> Numbers:
    """Return the current order; by default ranks in the launcher's order, equally many per slot."""
    ranks, slots = request.graph.size, request.machine.tree.slots
    if request.slots_before is None:
        slot_of_launch_slot = np.argsort(request.machine.launch_slots)
        return slot_of_launch_slot[np.arange(ranks, dtype=np.int64) * slots // ranks]
    if capacity == 0 and len(np.unique(request.slots_before)) != ranks:
        raise MpiricError("the current order has two ranks in one slot", hint="each slot takes one")
    return request.slots_before


def order_for_record(record: Path, host: Host) -> OrderProposal:
    """Map the ranks of a record onto the nodes they used, by the fast preset.

    Raises MpiricError if ranks are missing, or if no order has an effect.
    """
    traffic = recorded_traffic(record)
    placed = record_on_machine(traffic, MachineSpec())
    request = MapRequest(traffic.graph, placed.machine, placed.slots_before, preset="fast", seed=1)
    return OrderProposal(map_ranks(request, host), traffic.graph, placed.machine)

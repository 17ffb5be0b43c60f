"""Order ranks: traffic and a tree of slots go to the engine, what it found is judged and written."""

import math
from dataclasses import dataclass

import numpy as np

from mpiric.host.host import Host
from mpiric.mapping.engine import EngineSettings, run_engine
from mpiric.model.errors import MpiricError
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree, hop_bytes, off_group_weight


@dataclass(frozen=True)
class MapRequest:
    """What to map, onto what, how."""

    graph: RankGraph
    tree: SlotTree
    given: Numbers | None = None  # slot of each rank today; in their order when not known
    imbalance: float | None = None  # of the general problem
    preset: str = "eco"
    objective: str = "hop-bytes"
    threads: int = 1
    seed: int = 1


def map_ranks(request: MapRequest, host: Host) -> Mapped:
    """Find an order that is never worse than the one of today."""
    graph, tree = request.graph, request.tree
    capacity = _capacity(request)
    given = _given(request, capacity)
    settings = EngineSettings(request.preset, request.objective, request.threads, request.seed, capacity)
    answer = run_engine(host, graph, tree, given, settings)
    slots = answer.slots
    if len(slots) != graph.size or slots.min() < 0 or slots.max() >= tree.slots:
        raise AssertionError("the engine's order is no order")
    loads = np.bincount(slots, weights=graph.rank_weights, minlength=tree.slots)
    return Mapped(
        slots=slots,
        given=given,
        objective=hop_bytes(graph, tree, slots),
        objective_identity=hop_bytes(graph, tree, given),
        off_node=off_group_weight(graph, tree, slots),
        off_node_identity=off_group_weight(graph, tree, given),
        algorithm=answer.algorithm,
        proposals=answer.proposals,
        seconds=answer.seconds,
        heaviest_slot=int(loads.max()),
        capacity=capacity,
    )


def _capacity(request: MapRequest) -> int:
    """The most weight of a slot; 0 when there are as many ranks as slots, which then take one each."""
    ranks, slots = request.graph.size, request.tree.slots
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
    return max(share, math.floor(share * (1 + imbalance) + 1e-9), int(request.graph.rank_weights.max()), 1)


def _given(request: MapRequest, capacity: int) -> Numbers:
    """The order of today, else ranks in the order of the slots, as many in each."""
    ranks, slots = request.graph.size, request.tree.slots
    if request.given is None:
        return np.arange(ranks, dtype=np.int64) * slots // ranks
    if capacity == 0 and len(np.unique(request.given)) != ranks:
        raise MpiricError("the order of today has two ranks in one slot", hint="each slot takes one")
    return request.given

"""Distances and costs of a machine's levels: measured, described, or assumed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mpiric.model.errors import MpiricError
from mpiric.model.fabric import PairClass
from mpiric.model.json_text import parse_json
from mpiric.model.machine_slots import LevelCost, MachineSpec

# Where nothing is known: shared memory of today's servers, a network of 100 Gbit/s.
_INSIDE = {
    "numa": LevelCost(0.4, 9000.0),
    "socket": LevelCost(0.6, 7000.0),
    "node": LevelCost(0.8, 6000.0),
}
_NETWORK = LevelCost(1.3, 12500.0)
_HOP_US = 0.1  # a switch
_INSIDE_DISTANCES = {"numa": 1.0, "socket": 2.0, "node": 4.0}
_NIC_DISTANCE = 8.0  # into the network and out of it; a hop is one
_MEASURED = {
    PairClass.SAME_NUMA.value: ("numa",),
    PairClass.SAME_NODE.value: ("socket", "node"),
    PairClass.OTHER_NODE.value: ("network",),
}


def level_distance(level: str, spec: MachineSpec) -> float:
    """The distance of two slots by the name of their closest level; of "" what each way between nodes has."""
    if level in spec.distances:
        return spec.distances[level]
    if level in _INSIDE_DISTANCES:
        return _INSIDE_DISTANCES[level]
    return _NIC_DISTANCE + (_hops(level, spec) if level else 0.0)


def level_cost(level: str, spec: MachineSpec) -> LevelCost:
    """The cost of a message between two slots by the name of their closest level."""
    if level in spec.costs:
        return spec.costs[level]
    if level in _INSIDE:
        known = [spec.costs[name] for name in ("numa", "socket", "node") if name in spec.costs]
        return known[-1] if known else _INSIDE[level]
    base = spec.costs.get("network", _NETWORK)
    nearest = spec.network.hops[0] if spec.network else 0.0
    more = max(0.0, _hops(level, spec) - nearest)
    return replace(base, latency_us=base.latency_us + _HOP_US * more)


def with_fabric(spec: MachineSpec, text: str, name: str) -> MachineSpec:
    """The machine with costs from what `mpiric fabric --json` printed."""
    try:
        answer: Mapping[str, Any] = parse_json(text)
        pairs = {
            str(pair["class"]): LevelCost(float(pair["latency_us"]), float(pair["bandwidth_MBps"]))
            for pair in answer["pairs"]
        }
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise MpiricError(
            f"{name} is no answer of mpiric fabric: {type(error).__name__}: {error}",
            hint="mpiric fabric --json -- CMD > FILE",
        ) from None
    costs = {
        level: _checked(cost, level, name)
        for kind, cost in pairs.items()
        for level in _MEASURED.get(kind, ())
    }
    if not costs:
        raise MpiricError(f"{name} has no times between ranks", hint="measure with ranks on two nodes")
    return replace(spec, costs={**costs, **spec.costs}, costs_source="measured by mpiric fabric")


def measured_distances(spec: MachineSpec, levels: tuple[str, ...], mean_bytes: float) -> MachineSpec:
    """Distances that are the time of a message of a size, in units of the least of them."""
    times = {level: level_cost(level, spec).us(mean_bytes) for level in levels}
    least = min(times.values())
    return replace(
        spec, distances={**{level: time / least for level, time in times.items()}, **spec.distances}
    )


def _hops(level: str, spec: MachineSpec) -> float:
    network = spec.network
    if network is None or level not in network.levels:
        return 2.0
    return network.hops[network.levels.index(level)]


def _checked(cost: LevelCost, level: str, name: str) -> LevelCost:
    if not (0 <= cost.latency_us < math.inf and 0 < cost.bandwidth_mb_s < math.inf):
        raise MpiricError(f"{name}: the cost of {level} is no time or bandwidth", hint="measure again")
    return cost

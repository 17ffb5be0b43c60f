"""Distances and costs of the levels of a machine: measured, described, or assumed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mpiric.model.errors import MpiricError
from mpiric.model.fabric import PairClass
from mpiric.model.json_text import parse_json
from mpiric.model.mapping import LevelCost, MachineSpec

# Defaults: shared memory of current servers, a network of 100 Gbit/s.
_INSIDE = {
    "numa": LevelCost(0.4, 9000.0),
    "socket": LevelCost(0.6, 7000.0),
    "node": LevelCost(0.8, 6000.0),
}
_NETWORK = LevelCost(1.3, 12500.0)
_HOP_US = 0.1  # latency of a switch
_INSIDE_DISTANCES = {"numa": 1.0, "socket": 2.0, "node": 4.0}
_NIC_DISTANCE = 8.0  # entering and leaving the network; a hop has distance 1
_MEASURED = {
    PairClass.SAME_NUMA.value: ("numa",),
    PairClass.SAME_NODE.value: ("socket", "node"),
    PairClass.OTHER_NODE.value: ("network",),
}


def level_distance(level: str, spec: MachineSpec) -> float:
    """Return the distance of slots whose closest level has this name; "" for the part common to all nodes."""
    if level in spec.distances:
        return spec.distances[level]
    if level in _INSIDE_DISTANCES:
        return _INSIDE_DISTANCES[level]
    return _NIC_DISTANCE + (_hops(level, spec) if level else 0.0)


def level_cost(level: str, spec: MachineSpec) -> LevelCost:
    """Return the cost of a message between two slots by the name of their closest level."""
    if level in spec.costs:
        return spec.costs[level]
    if level in _INSIDE:
        described = [spec.costs[name] for name in ("numa", "socket", "node") if name in spec.costs]
        return described[-1] if described else _INSIDE[level]
    base = spec.costs.get("network", _NETWORK)
    nearest = spec.network.hops[0] if spec.network else 0.0
    more = max(0.0, _hops(level, spec) - nearest)
    return replace(base, latency_us=base.latency_us + _HOP_US * more)


def with_fabric(spec: MachineSpec, text: str, name: str) -> MachineSpec:
    """Return the machine with the costs in the output of `mpiric fabric --json`."""
    try:
        answer: Mapping[str, Any] = parse_json(text)
        pairs = {
            str(pair["class"]): LevelCost(float(pair["latency_us"]), float(pair["bandwidth_MBps"]))
            for pair in answer["pairs"]
        }
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise MpiricError(
            f"{name} is not output of mpiric fabric: {type(error).__name__}: {error}",
            hint="mpiric fabric --json -- CMD > FILE",
        ) from None
    costs = {level: cost for kind, cost in pairs.items() for level in _MEASURED.get(kind, ())}
    for level, cost in costs.items():
        if not (0 <= cost.latency_us < math.inf and 0 < cost.bandwidth_mb_s < math.inf):
            raise MpiricError(
                f"{name}: latency or bandwidth of {level} is out of range", hint="measure again"
            )
    if not costs:
        raise MpiricError(f"{name} has no latencies between ranks", hint="measure with ranks on two nodes")
    return replace(spec, costs={**costs, **spec.costs}, costs_source="measured by mpiric fabric")


def measured_distances(spec: MachineSpec, levels: tuple[str, ...], mean_bytes: float) -> MachineSpec:
    """Return the machine with distances that are times of a message of a size, relative to the smallest."""
    times = {level: level_cost(level, spec).us(mean_bytes) for level in levels}
    smallest = min(times.values())
    return replace(
        spec, distances={**{level: time / smallest for level, time in times.items()}, **spec.distances}
    )


def _hops(level: str, spec: MachineSpec) -> float:
    network = spec.network
    if network is None or level not in network.levels:
        return 2.0
    return network.hops[network.levels.index(level)]

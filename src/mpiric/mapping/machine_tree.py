"""Tree of the slots of a described machine, and the distances and costs of its levels.

Nodes may be missing or of unequal size. Distances and costs are measured, described, or assumed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.fabric import PairClass
from mpiric.model.json_text import parse_json
from mpiric.model.machine import Topology
from mpiric.model.mapping import LevelCost, MachineSlots, MachineSpec, Numbers, RoutedNetwork, SlotTree

# Defaults: shared memory of current servers, a network of 100 Gbit/s.
_INSIDE = {"numa": LevelCost(0.4, 9000.0), "socket": LevelCost(0.6, 7000.0), "node": LevelCost(0.8, 6000.0)}
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
            f"{name} is not the output of `mpiric fabric --json`",
            hint="write it with: mpiric fabric --json -- CMD > FILE",
        ) from error
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


_MOST_IN_MATRIX = 4096  # nodes of a torus
_MOST_SLOTS = 2**26


def assemble(spec: MachineSpec) -> MachineSlots:
    """Order nodes so that groups are ranges of slots; the first level with one group ends the tree."""
    hosts, counts = _hosts(spec)
    at = _positions(spec, hosts)
    order = _order(spec.network, at)
    node_of_slot = np.repeat(np.arange(len(hosts)), [counts[node] for node in order])
    place = np.concatenate([np.arange(counts[node]) for node in order])
    names, groups = _levels(spec, node_of_slot, place, at[order], [counts[node] for node in order])
    inner = len(spec.inside)
    distances = [level_distance(name, spec) for name in names]
    starts = np.concatenate(([0], np.cumsum(counts)))
    matrix = _matrix(spec, at[order], names[-1], inner, len(groups))
    return MachineSlots(
        tree=SlotTree(
            len(node_of_slot),
            tuple(groups),
            tuple(np.maximum.accumulate(distances).tolist()),
            matrix,
            tuple(names),
            inner,
        ),
        hosts=tuple(hosts[order[node]] for node in node_of_slot),
        launch_slots=starts[np.array(order)[node_of_slot]] + place,
        costs=tuple(level_cost(name, spec) for name in names),
        costs_source=spec.costs_source,
        network=spec.network,
        network_nodes=at[order],
        nics=spec.nics,
    )


def _hosts(spec: MachineSpec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    network_names = spec.network.names if spec.network else ()
    count = spec.network.nodes if spec.network else len(spec.slots)
    hosts = spec.hosts or network_names or tuple(f"node{i + 1}" for i in range(max(count, 1)))
    if len(set(hosts)) != len(hosts):
        duplicate = next(host for host in hosts if hosts.count(host) > 1)
        raise MpiricError(f"the node {duplicate} is named twice", hint="name each node once")
    places = len(spec.inside[0][1]) if spec.inside else 0
    slots = spec.slots or ((places,) if places else ())
    if not slots:
        raise MpiricError(
            "the number of ranks per node is missing", hint="add --slots 8, or `slots: 8` to the machine file"
        )
    counts = slots * len(hosts) if len(slots) == 1 else slots
    if len(counts) != len(hosts):
        hint = "give a number for each node: --nodes 8,8,4"
        raise MpiricError(f"there are {len(hosts)} nodes, and slots of {len(counts)}", hint=hint)
    if min(counts) < 1:
        raise MpiricError("a node has no slots", hint="leave it out")
    if sum(counts) > _MOST_SLOTS:
        raise MpiricError(
            f"too many slots: {sum(counts)}; the limit is {_MOST_SLOTS}",
            hint="describe a part of the machine",
        )
    return tuple(hosts), tuple(counts)


def _positions(spec: MachineSpec, hosts: Sequence[str]) -> Numbers:
    """Return the number of each host in the network."""
    network = spec.network
    if network is None:
        return np.zeros(len(hosts), dtype=np.int64)
    numbers = {**{name: index for index, name in enumerate(network.names)}, **spec.positions}
    if not numbers:
        if len(hosts) > network.nodes:
            raise MpiricError(
                f"there are {len(hosts)} nodes, and the network has {network.nodes}",
                hint="describe a larger network",
            )
        return np.arange(len(hosts))
    missing = [host for host in hosts if host not in numbers]
    if missing:
        raise MpiricError(
            f"the network does not have the node {missing[0]}"
            + (f", nor {len(missing) - 1} others" if len(missing) > 1 else ""),
            hint="add it, or use the names in the network",
        )
    positions = np.array([numbers[host] for host in hosts], dtype=np.int64)
    if len(np.unique(positions)) != len(positions) or positions.min() < 0 or positions.max() >= network.nodes:
        raise MpiricError(
            "two nodes have the same position in the network, or one is outside", hint="correct the positions"
        )
    return positions


def _order(network: RoutedNetwork | None, at: Numbers) -> list[int]:
    """Sort nodes by group, outermost first; on a torus along a Morton curve, so that ranges are compact."""
    if network is None:
        return list(range(len(at)))
    if network.extents:
        place = np.stack(np.unravel_index(at, network.extents), axis=1)
        keys = [
            sum(
                ((int(c) >> bit) & 1) << (bit * len(row) + d)
                for d, c in enumerate(row[::-1])
                for bit in range(20)
            )
            for row in place
        ]
        return sorted(range(len(at)), key=lambda node: keys[node])
    outer_first = [group[at] for group in reversed(network.groups)]
    return sorted(
        range(len(at)), key=lambda node: (*(int(g[node]) for g in outer_first), int(at[node]), node)
    )


def _levels(
    spec: MachineSpec, node_of_slot: Numbers, place: Numbers, at: Numbers, counts: Sequence[int]
) -> tuple[list[str], list[Numbers]]:
    names, groups = [], []
    width = np.array(counts)[node_of_slot]
    for name, group_of_place in spec.inside:
        group_of = np.array(group_of_place)
        # Fewer slots than places are spread over the groups; surplus slots belong to the last group.
        inside = group_of[
            np.minimum(place * max(len(group_of), 1) // np.maximum(width, 1), len(group_of) - 1)
        ]
        names.append(name)
        groups.append(_ranges(np.stack((node_of_slot, inside), axis=1)))
    names.append("node")
    groups.append(node_of_slot)
    if spec.network is not None:
        for level, name in enumerate(spec.network.levels[:-1]):
            outer = [group[at][node_of_slot] for group in spec.network.groups[level:]]
            names.append(name)
            groups.append(_ranges(np.stack(outer, axis=1)))
    names.append(spec.network.levels[-1] if spec.network is not None else "network")
    groups.append(np.zeros(len(node_of_slot), dtype=np.int64))
    outermost = next(level for level in range(len(spec.inside), len(groups)) if groups[level][-1] == 0)
    return names[: outermost + 1], groups[: outermost + 1]


def _ranges(keys: Numbers) -> Numbers:
    """Number the runs of equal keys of the slots."""
    begins = np.concatenate(([False], (keys[1:] != keys[:-1]).any(axis=1)))
    return np.cumsum(begins)


def _matrix(
    spec: MachineSpec, at: Numbers, outermost: str, inner: int, levels: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the distances between nodes if the levels of the network do not determine them."""
    network = spec.network
    if network is None or network.distance is None or levels != inner + 2 or outermost in spec.distances:
        return np.zeros((0, 0))
    if len(at) > _MOST_IN_MATRIX:
        raise MpiricError(
            f"the torus has too many nodes: {len(at)}; the limit is {_MOST_IN_MATRIX}",
            hint="describe a part of the network",
        )
    sources, targets = np.repeat(at, len(at)), np.tile(at, len(at))
    hops = network.distance(sources, targets).reshape(len(at), len(at))
    return np.where(hops > 0, level_distance("", spec) + hops, 0.0)


def joined_specs(specs: Sequence[MachineSpec]) -> MachineSpec:
    """Join descriptions; later ones take precedence. Raises MpiricError if two describe a network."""
    if sum(spec.network is not None for spec in specs) > 1:
        raise MpiricError("more than one network is described", hint="give one topology file, or --network")
    joined = MachineSpec()
    for spec in specs:
        joined = MachineSpec(
            hosts=spec.hosts or joined.hosts,
            slots=spec.slots or joined.slots,
            inside=spec.inside or joined.inside,
            network=spec.network or joined.network,
            positions={**joined.positions, **spec.positions},
            distances={**joined.distances, **spec.distances},
            costs={**joined.costs, **spec.costs},
            costs_source=spec.costs_source or joined.costs_source,
            nics=max(spec.nics, joined.nics),
        )
    return joined


def node_shape(topology: Topology) -> MachineSpec:
    """Return a slot for each core and the levels inside the node, innermost first, that divide its cores."""
    cores = sorted(topology.cores, key=lambda core: (core.package, core.numa_node, core.index))
    levels = (
        ("numa", tuple(core.numa_node for core in cores)),
        ("socket", tuple(core.package for core in cores)),
    )
    divisions: list[tuple[str, tuple[int, ...]]] = []
    for name, groups in levels:
        if len(set(groups)) > 1 and all(groups != other for _, other in divisions):
            divisions.append((name, groups))
    return MachineSpec(slots=(len(cores),), inside=tuple(divisions))

"""Description of a machine in YAML: nodes, their inside, the network, distances and costs.

nodes: "n[1-16]"               # or nodes with their slots: {n1: 8, n2: 4}
slots: 8                       # slots per node
inside: {numa: 4, socket: 8}   # slots of a group, innermost first
network: torus:4x4             # or fat-tree:…, dragonfly:…, dragonfly+:…
switches: {s1: "n[1-8]", s2: "n[9-16]", top: "s[1-2]"}   # instead of a network
at: {n1: [0, 0], n2: [0, 1]}   # positions of nodes: coordinates in a torus, else node numbers
distances: {node: 1, network: 10}
costs: {network: {latency_us: 1.5, bandwidth_MBps: 12000}}
nics: 2                        # NICs per node
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import yaml

from mpiric.mapping.networks import parse_network
from mpiric.mapping.switches import network_of_switches
from mpiric.model.batch import hosts_of
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import LevelCost, MachineSpec, RoutedNetwork

_KEYS = ("nodes", "slots", "inside", "network", "switches", "at", "distances", "costs", "nics")
_MOST_SLOTS = 2**16
# Exceptions of PyYAML, including those for values that do not match a tag such as `!!int`.
_UNREADABLE = (
    yaml.YAMLError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def parse_machine_yaml(text: str, name: str) -> MachineSpec:
    """Parse a description. Raises MpiricError that names the wrong key."""
    try:
        loaded = yaml.safe_load(text)  # type: ignore[no-untyped-call]
    except _UNREADABLE as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise MpiricError(f"{name}: not YAML: {why}", hint="correct the file") from None
    if not isinstance(loaded, Mapping):
        raise MpiricError(f"{name}: not a description of a machine", hint=f"keys: {', '.join(_KEYS)}")
    unknown = [str(key) for key in loaded if key not in _KEYS]
    if unknown:
        raise MpiricError(
            f"{name}: {unknown[0]!r} is not a key of a machine", hint=f"keys: {', '.join(_KEYS)}"
        )
    reader = _Reader(name, loaded)
    hosts, slots = reader.nodes()
    network = reader.network()
    return MachineSpec(
        hosts=hosts,
        slots=slots,
        inside=reader.inside(),
        network=network,
        positions=reader.positions(network),
        distances={
            level: reader.number(value, "distances") for level, value in reader.table("distances").items()
        },
        costs={level: reader.cost(level, value) for level, value in reader.table("costs").items()},
        costs_source=f"from {name}" if "costs" in loaded else "",
        nics=reader.count(loaded.get("nics", 1), "nics"),
    )


_HINT = "write for example `nodes: n[1-4]`, `slots: 8`, `inside: {numa: 4}`, `network: torus:2x2`"


class _Reader:
    """Values of one file; errors name the key."""

    def __init__(self, name: str, loaded: Mapping[Any, Any]) -> None:
        self._name, self._loaded = name, loaded

    def _refuse(self, key: str, problem: str) -> NoReturn:
        raise MpiricError(f"{self._name}: {key}: {problem}", hint=_HINT)

    def table(self, key: str) -> dict[str, Any]:
        value = self._loaded.get(key, {})
        if not isinstance(value, Mapping):
            self._refuse(key, "not a table")
        return {str(inner): entry for inner, entry in value.items()}

    def count(self, value: Any, key: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST_SLOTS:
            self._refuse(key, f"must be an integer from 1 to {_MOST_SLOTS}, not {value!r}")
        return value

    def number(self, value: Any, key: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            self._refuse(key, f"must be a number of at least 0, not {value!r}")
        return float(value)

    def nodes(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        value = self._loaded.get("nodes", "")
        slots = self._loaded.get("slots")
        if isinstance(value, Mapping):
            named = [(hosts_of(str(hosts)), self.count(count, "nodes")) for hosts, count in value.items()]
            return tuple(h for hosts, _ in named for h in hosts), tuple(
                count for hosts, count in named for _ in hosts
            )
        hosts = hosts_of(value) if isinstance(value, str) and value else ()
        if not isinstance(value, str):
            self._refuse("nodes", "neither a list such as n[1-4] nor a table of slots")
        return hosts, () if slots is None else (self.count(slots, "slots"),)

    def inside(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        levels = [(level, self.count(width, "inside")) for level, width in self.table("inside").items()]
        for (inner, few), (outer, many) in pairwise(levels):
            if many % few:
                self._refuse(
                    "inside", f"{outer} has {many} slots, not a multiple of the {few} slots of {inner}"
                )
        slots = self.nodes()[1]
        places = max(slots, default=levels[-1][1] if levels else 0)
        return tuple((level, tuple((np.arange(places) // width).tolist())) for level, width in levels)

    def network(self) -> RoutedNetwork | None:
        described, switches = self._loaded.get("network"), self.table("switches")
        if described is not None and switches:
            self._refuse("network", "`network` and `switches` exclude each other")
        if switches:
            below: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
            for switch, value in switches.items():
                if not isinstance(value, str):
                    self._refuse("switches", f"{switch} needs a list such as n[1-4]")
                names = hosts_of(value)
                below[switch] = (
                    tuple(child for child in names if child not in switches),
                    tuple(child for child in names if child in switches),
                )
            return network_of_switches(below, self._name)
        if described is not None and not isinstance(described, str):
            self._refuse("network", f"{described!r} is not a network such as torus:4x4")
        return parse_network(described) if described else None

    def positions(self, network: RoutedNetwork | None) -> dict[str, int]:
        table = self.table("at")
        if table and network is None:
            self._refuse("at", "positions need a network")
        return {host: self._position(host, value, network) for host, value in table.items()}

    def _position(self, host: str, value: Any, network: RoutedNetwork | None) -> int:
        extents = network.extents if network else ()
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        limits = extents if len(values) > 1 or len(extents) == 1 else (network.nodes if network else 0,)
        fits = len(values) == len(limits) and all(
            isinstance(index, int) and not isinstance(index, bool) and 0 <= index < limit
            for index, limit in zip(values, limits, strict=False)
        )
        if not fits:
            self._refuse("at", f"{host} has the position {value!r}, which is outside the network")
        return int(np.ravel_multi_index(tuple(values), tuple(limits)))

    def cost(self, level: str, value: Any) -> LevelCost:
        if not isinstance(value, Mapping) or set(value) != {"latency_us", "bandwidth_MBps"}:
            self._refuse("costs", f"{level} needs latency_us and bandwidth_MBps")
        bandwidth = self.number(value["bandwidth_MBps"], "costs")
        if not bandwidth:
            self._refuse("costs", f"the bandwidth of {level} must be positive")
        return LevelCost(self.number(value["latency_us"], "costs"), bandwidth)

"""Tree of switches in Slurm's format: `topology.conf`, or the output of `scontrol show topology`.

A switch lists its nodes or the switches below it; blocks (Slurm's topology/block) are switches at the top.
The uplink of a switch is assumed to be as fast as its nodes together: Slurm has no speeds.
"""

import re
from collections.abc import Mapping
from dataclasses import field

import numpy as np

from mpiric.mapping.networks import with_group_links
from mpiric.model.batch import hosts_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, RoutedNetwork, routed

_PAIR = re.compile(r"(\w+)=(\S*)")
_DEEPEST = 16


@dataclass
class _Switch:
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    above: str = ""
    leaves: list[str] = field(default_factory=list)


def is_slurm_topology(text: str) -> bool:
    """Check whether a text has lines of Slurm about switches or blocks."""
    return re.search(r"^\s*(SwitchName|BlockName)=", text, re.MULTILINE) is not None


def parse_slurm_topology(text: str, name: str) -> RoutedNetwork:
    """Return the switches as a network. Raises MpiricError for lines that contradict each other."""
    switches: dict[str, _Switch] = {}
    for line in text.splitlines():
        fields = {key.lower(): value for key, value in _PAIR.findall(line.partition("#")[0])}
        switch = fields.get("switchname", fields.get("blockname", ""))
        if not switch:
            continue
        nodes = hosts_of(fields["nodes"]) if fields.get("nodes", "(null)") != "(null)" else ()
        below = hosts_of(fields["switches"]) if fields.get("switches", "(null)") != "(null)" else ()
        if switch in switches:
            raise MpiricError(f"{name}: the switch {switch} is defined twice", hint="correct the file")
        # For a switch with switches below it, scontrol prints the nodes of those switches.
        switches[switch] = _Switch(() if below else nodes, below)
    return network_of_switches({key: (entry.nodes, entry.switches) for key, entry in switches.items()}, name)


def network_of_switches(
    switches: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]], name: str
) -> RoutedNetwork:
    """Build the network from the nodes and switches below each switch."""
    if not switches:
        raise MpiricError(f"{name}: it has no switches", hint="SwitchName=s1 Nodes=n[1-16]")
    above = _parents(switches, name)
    chains: dict[str, tuple[str, ...]] = {}  # node → switches above it, innermost first
    for switch, (nodes, _) in switches.items():
        chain = _chain(switch, above, name)
        for node in nodes:
            if node in chains:
                raise MpiricError(
                    f"{name}: the node {node} is below {chains[node][0]} and below {switch}",
                    hint="a node has one switch",
                )
            chains[node] = chain
    if not chains:
        raise MpiricError(f"{name}: its switches have no nodes", hint="SwitchName=s1 Nodes=n[1-16]")
    depth = max(len(chain) for chain in chains.values())
    # The first switch of a node that has fewer switches above it than others is repeated.
    padded = {node: (chain[0],) * (depth - len(chain)) + chain for node, chain in chains.items()}
    order = sorted(padded, key=lambda node: tuple(reversed(padded[node])))
    groups = [_numbered([padded[node][level:] for node in order]) for level in range(depth)]
    return _network(
        tuple(order), tuple(groups), [[padded[n][level] for n in order] for level in range(depth)]
    )


def _parents(switches: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]], name: str) -> dict[str, str]:
    above: dict[str, str] = {}
    for switch, (_, under) in switches.items():
        for child in under:
            if child not in switches:
                raise MpiricError(
                    f"{name}: {switch} lists {child}, which is not a switch", hint="correct the file"
                )
            if child in above:
                raise MpiricError(
                    f"{name}: the switch {child} is below {above[child]} and below {switch}",
                    hint="only trees of switches can be mapped",
                )
            above[child] = switch
    return above


def _chain(switch: str, above: Mapping[str, str], name: str) -> tuple[str, ...]:
    chain = [switch]
    while chain[-1] in above:
        chain.append(above[chain[-1]])
        if len(chain) > _DEEPEST:
            raise MpiricError(f"{name}: the switch {switch} is below itself", hint="correct the file")
    return tuple(chain)


def _numbered(keys: list[tuple[str, ...]]) -> Numbers:
    numbers: dict[tuple[str, ...], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _network(
    nodes: tuple[str, ...], groups: tuple[Numbers, ...], switch_names: list[list[str]]
) -> RoutedNetwork:
    is_tree = groups[-1].max() == 0
    inner = groups[:-1] if is_tree else groups
    levels = tuple("switch" if level == 0 else f"switch level {level + 1}" for level in range(len(inner)))
    hops = tuple(2.0 * (level + 1) for level in range(len(inner) + 1))
    bare = RoutedNetwork(
        kind="switches",
        levels=(*levels, "network"),
        groups=inner,
        hops=hops,
        link_speeds=np.zeros(0),
        link_name=str,
        route=lambda _one, _other: routed(),
        names=nodes,
    )
    labels = [
        list(dict.fromkeys(zip(group.tolist(), names, strict=True)))
        for group, names in zip(inner, switch_names, strict=False)
    ]
    return with_group_links(bare, [[name for _, name in level] for level in labels])

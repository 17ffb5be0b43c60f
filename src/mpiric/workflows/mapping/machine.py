"""The target machine of a mapping, from files, options and records."""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from mpiric.host.files import text_of
from mpiric.host.host import Host
from mpiric.machine.topology import load_topology, topology_of
from mpiric.mapping.graph import parse_distances
from mpiric.mapping.machine_tree import assemble, joined_specs, measured_distances, node_shape, with_fabric
from mpiric.mapping.machine_yaml import parse_machine_yaml
from mpiric.mapping.networks import parse_network
from mpiric.mapping.switches import is_slurm_topology, parse_slurm_topology
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSlots, MachineSpec, Numbers, RankGraph
from mpiric.model.rank_order import RankOrder
from mpiric.workflows.mapping.record import RecordedTraffic

HERE = "here"  # topology of this machine
_RECORD_DISTANCES: Mapping[str, float] = {"node": 1.0, "network": 10.0}


@dataclass(frozen=True)
class MachineRequest:
    """Description of the machine by the user."""

    sources: tuple[str, ...] = ()  # files, or "here"
    network: str = ""  # "torus:8x8"
    hosts: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()  # slots of each node; one number applies to all
    distances: str = ""  # "1:10:100", or "node=1,network=10"
    fabric: Path | None = None  # output of mpiric fabric --json
    spec: MachineSpec = field(default_factory=MachineSpec)  # further known properties


@dataclass(frozen=True)
class PlacedRecord:
    """Ranks of a record, placed on a machine."""

    machine: MachineSlots
    slots_before: Numbers  # slot of each rank


def read_machine(request: MachineRequest, host: Host) -> MachineSpec:
    """Combine all descriptions of the machine. Raises MpiricError for a file that does not fit."""
    specs = [request.spec, *(_described(source, host) for source in request.sources)]
    if request.network:
        specs.append(MachineSpec(network=parse_network(request.network)))
    specs.append(MachineSpec(hosts=request.hosts, slots=request.slots))
    spec = joined_specs(specs)
    if request.fabric is not None:
        spec = with_fabric(spec, _text(str(request.fabric), host), str(request.fabric))
    return spec


def machine_for(graph: RankGraph, request: MachineRequest, spec: MachineSpec) -> MachineSlots:
    """Return the slots for a graph's ranks; distances as specified, measured, or typical for the machine."""
    spec = replace(spec, slots=spec.slots or _even(graph.size, spec))
    machine = assemble(spec)
    levels = machine.tree.levels
    if request.distances:
        return assemble(replace(spec, distances={**spec.distances, **_distances(request.distances, levels)}))
    if request.fabric is not None and not spec.distances:
        sent = float(graph.weights.sum()) / max(float(graph.messages.sum()), 1.0)
        return assemble(measured_distances(spec, levels, sent))
    return machine


def record_on_machine(
    traffic: RecordedTraffic, spec: MachineSpec, request: MachineRequest | None = None
) -> PlacedRecord:
    """Return the nodes that a record's ranks used as a machine; other properties as described.

    Nodes that the request names replace them.
    """
    request = request or MachineRequest()
    hosts, slots = request.hosts or traffic.nodes, request.slots or traffic.slots
    is_plain = spec.network is None and not spec.inside and not request.fabric
    distances = {**_RECORD_DISTANCES, **spec.distances} if is_plain else spec.distances
    described = replace(spec, hosts=hosts, slots=slots, distances=distances)
    machine = machine_for(traffic.graph, request, described)
    require_slot_each("the record", traffic.graph.size, machine)
    slot_of = np.argsort(machine.launch_slots)  # slot by the launcher's number
    return PlacedRecord(machine, slot_of[traffic.slots_before])


def rank_order(machine: MachineSlots, slots: Numbers) -> RankOrder:
    """Convert an order to the launcher's slot numbers."""
    return RankOrder(tuple(machine.launch_slots[slots].tolist()), machine.launch_hosts)


def require_slot_each(what: str, ranks: int, machine: MachineSlots) -> None:
    """Raise MpiricError unless the machine has exactly one slot per rank of a record."""
    if machine.tree.slots != ranks:
        raise MpiricError(
            f"{what} has {ranks} ranks, and the machine has {machine.tree.slots} slots",
            hint="describe a machine with a slot for each rank",
        )


def _described(source: str, host: Host) -> MachineSpec:
    if source == HERE:
        return node_shape(topology_of(host))
    text = _text(source, host)
    if text.lstrip().startswith("<"):
        return node_shape(load_topology(host, source))
    if is_slurm_topology(text):
        return MachineSpec(network=parse_slurm_topology(text, source))
    return parse_machine_yaml(text, source)


def _text(source: str, host: Host) -> str:
    return text_of(host, source, "description of a machine", "name a file that describes the machine")


def _even(ranks: int, spec: MachineSpec) -> tuple[int, ...]:
    """Distribute the ranks evenly over the nodes, if the number of slots per node is unspecified."""
    nodes = len(spec.hosts) or (spec.network.nodes if spec.network else 0)
    if spec.inside or not nodes:
        return ()
    if ranks % nodes:
        raise MpiricError(
            f"{ranks} ranks cannot be divided by {nodes} nodes", hint="give the slots of a node with --slots"
        )
    return (ranks // nodes,)


def _distances(text: str, levels: tuple[str, ...]) -> dict[str, float]:
    if "=" not in text:
        return dict(zip(levels, parse_distances(text, len(levels)), strict=True))
    pairs = [word.partition("=") for word in text.split(",")]
    unknown = [level for level, _, _ in pairs if level not in levels]
    if unknown:
        raise MpiricError(
            f"{unknown[0]!r} is not a level of this machine", hint=f"innermost first: {', '.join(levels)}"
        )
    return {level: parse_distances(value, 1)[0] for level, _, value in pairs}

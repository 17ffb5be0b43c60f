"""The machine to map onto, from files, options and records."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mpiric.host.files import text_of
from mpiric.host.host import Host
from mpiric.machine.topology import load_topology, topology_of
from mpiric.mapping.graph import parse_distances
from mpiric.mapping.machines.assemble import assemble, joined_specs, node_shape
from mpiric.mapping.machines.costs import measured_distances, with_fabric
from mpiric.mapping.machines.switches import is_slurm_topology, parse_slurm_topology
from mpiric.mapping.machines.yaml_file import parse_machine_yaml
from mpiric.mapping.networks import parse_network
from mpiric.model.errors import MpiricError
from mpiric.model.machine_slots import MachineSlots, MachineSpec
from mpiric.model.rank_graph import Numbers, RankGraph
from mpiric.model.rank_order import RankOrder
from mpiric.workflows.mapping.record import RecordedTraffic

HERE = "here"  # the topology of this machine
_RECORD_DISTANCES: Mapping[str, float] = {"node": 1.0, "network": 10.0}


@dataclass(frozen=True)
class MachineRequest:
    """What the user says of the machine."""

    sources: tuple[str, ...] = ()  # files, or "here"
    network: str = ""  # "torus:8x8"
    hosts: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()  # of each node; one number counts for all
    distances: str = ""  # "1:10:100", or "node=1,network=10"
    fabric: Path | None = None  # what mpiric fabric --json printed
    spec: MachineSpec = field(default_factory=MachineSpec)  # what else is known


@dataclass(frozen=True)
class PlacedRecord:
    """A record's ranks on a machine."""

    machine: MachineSlots
    given: Numbers  # slot of each rank


def read_machine(request: MachineRequest, host: Host) -> MachineSpec:
    """Join all that describes the machine. Raises MpiricError that names the file that cannot be meant."""
    specs = [request.spec, *(_described(source, host) for source in request.sources)]
    if request.network:
        specs.append(MachineSpec(network=parse_network(request.network)))
    specs.append(MachineSpec(hosts=request.hosts, slots=request.slots))
    spec = joined_specs(specs)
    if request.fabric is not None:
        spec = with_fabric(spec, _text(str(request.fabric), host), str(request.fabric))
    return spec


def machine_for(graph: RankGraph, request: MachineRequest, spec: MachineSpec) -> MachineSlots:
    """The slots for a graph's ranks; distances as given, as measured, or as the kind of machine has them."""
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
    """The nodes that a record's ranks sat on as a machine; the rest of it is as described.

    Nodes that the request names stand in their places.
    """
    request = request or MachineRequest()
    hosts, slots = request.hosts or traffic.nodes, request.slots or traffic.slots
    is_plain = spec.network is None and not spec.inside and not request.fabric
    distances = {**_RECORD_DISTANCES, **spec.distances} if is_plain else spec.distances
    known = replace(spec, hosts=hosts, slots=slots, distances=distances)
    machine = machine_for(traffic.graph, request, known)
    require_slot_each("the record", traffic.graph.size, machine)
    slot_of = np.argsort(machine.launch_slots)  # of the launcher's number
    return PlacedRecord(machine, slot_of[traffic.given])


def rank_order(machine: MachineSlots, slots: Numbers) -> RankOrder:
    """An order in the launcher's numbers of slots."""
    return RankOrder(tuple(machine.launch_slots[slots].tolist()), machine.launch_hosts)


def require_slot_each(what: str, ranks: int, machine: MachineSlots) -> None:
    """Raise MpiricError unless a record's ranks take one slot each of the machine."""
    if machine.tree.slots != ranks:
        raise MpiricError(
            f"{what} has {ranks} ranks, and there are {machine.tree.slots} slots",
            hint="each rank takes one",
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
    """Give each node as many slots as each rank needs one, where its inside does not say how many."""
    nodes = len(spec.hosts) or (spec.network.nodes if spec.network else 0)
    if spec.inside or not nodes:
        return ()
    if ranks % nodes:
        raise MpiricError(f"{ranks} ranks on {nodes} nodes", hint="--slots: those of a node")
    return (ranks // nodes,)


def _distances(text: str, levels: tuple[str, ...]) -> dict[str, float]:
    if "=" not in text:
        return dict(zip(levels, parse_distances(text, len(levels)), strict=True))
    words = [word.partition("=") for word in text.split(",")]
    unknown = [level for level, _, _ in words if level not in levels]
    if unknown:
        raise MpiricError(
            f"{unknown[0]!r} is no level of this machine", hint=f"innermost first: {', '.join(levels)}"
        )
    return {level: parse_distances(value, 1)[0] for level, _, value in words}

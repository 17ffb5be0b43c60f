"""A record's traffic and where its ranks sat, as what the engine maps."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpiric.mapping.graph import graph_of
from mpiric.mapping.hierarchy import node_tree
from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree
from mpiric.model.record import Record
from mpiric.profile.read import read_record
from mpiric.profile.traffic import ONE_SIDED, POINT_TO_POINT, between_ranks, nodes_of

_DISTANCES = (1.0, 10.0)  # inside a node, between two


@dataclass(frozen=True)
class RecordedTraffic:
    """What a run sent and where its ranks sat."""

    graph: RankGraph
    tree: SlotTree
    given: Numbers  # slot of each rank
    hosts: tuple[str, ...]  # of each slot


def recorded_traffic(path: Path, distances: tuple[float, ...] = _DISTANCES) -> RecordedTraffic:
    """Read the traffic of the record in ``path``."""
    return traffic_of(read_record(path), str(path), distances)


def traffic_of(record: Record, name: str, distances: tuple[float, ...] = _DISTANCES) -> RecordedTraffic:
    """Point-to-point and one-sided messages, exact; slots are counted node by node."""
    if record.missing:
        raise MpiricError(
            f"{name} lacks {len(record.missing)} of {record.world_size} ranks, rank {record.missing[0]}",
            hint="record a run that ends: an order needs the traffic of all ranks",
        )
    names, node_of = nodes_of(record)
    ranks = record.world_size
    by_node = sorted(range(ranks), key=lambda rank: (node_of[rank], rank))
    given = np.zeros(ranks, dtype=np.int64)
    given[by_node] = np.arange(ranks)
    messages = between_ranks(record, POINT_TO_POINT | ONE_SIDED)
    graph = graph_of(
        ranks,
        np.array([m.source for m in messages], dtype=np.int64),
        np.array([m.destination for m in messages], dtype=np.int64),
        np.array([m.bytes for m in messages], dtype=np.float64),
    )
    if not len(graph.targets):
        raise MpiricError(
            f"{name} has no messages between two ranks", hint="collective calls alone do not depend on pairs"
        )
    counts = [sum(node == number for node in node_of.values()) for number in range(len(names))]
    hosts = tuple(names[node_of[rank]] for rank in by_node)
    return RecordedTraffic(graph, node_tree(counts, distances), given, hosts)

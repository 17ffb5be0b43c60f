"""Traffic and placement of a record's ranks, as input of the engine."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpiric.mapping.collective_traffic import CollectiveTraffic, collective_traffic
from mpiric.mapping.graph import graph_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, RankGraph, RecordedRun, Weights
from mpiric.model.profile import Message
from mpiric.model.record import Record
from mpiric.profile.communicators import ONE_SIDED, POINT_TO_POINT, between_ranks, nodes_of
from mpiric.profile.read import read_record

_EXCHANGING = frozenset(("send", "receive", "start", "wait", "collective", "one_sided"))


@dataclass(frozen=True)
class RecordedTraffic:
    """Traffic of a run and placement of its ranks."""

    graph: RankGraph
    nodes: tuple[str, ...]  # sorted by their first ranks
    slots: tuple[int, ...]  # number of slots of each node
    slots_before: Numbers  # slot of each rank, numbered node by node
    io_bytes: Weights  # bytes that each rank reads and writes in files
    run: RecordedRun


def recorded_traffic(path: Path) -> RecordedTraffic:
    """Read the traffic of the record in ``path``."""
    return traffic_of(read_record(path), str(path))


def traffic_of(record: Record, name: str) -> RecordedTraffic:
    """Return exact messages and one-sided transfers, and collective calls converted by their algorithms.

    Slots are numbered node by node.
    """
    if record.missing:
        raise MpiricError(
            f"{name} lacks {len(record.missing)} of {record.world_size} ranks, such as {record.missing[0]}",
            hint="record a run that ends: an order needs the traffic of all ranks",
        )
    names, node_of = nodes_of(record)
    ranks = record.world_size
    by_node = sorted(range(ranks), key=lambda rank: (node_of[rank], rank))
    slots_before = np.zeros(ranks, dtype=np.int64)
    slots_before[by_node] = np.arange(ranks)
    exact = between_ranks(record, POINT_TO_POINT | ONE_SIDED)
    collectives = collective_traffic(record)
    graph = _graph(ranks, exact, collectives)
    if not len(graph.targets):
        raise MpiricError(
            f"{name} has no traffic between ranks that an order could change",
            hint="traffic that is symmetric over all ranks costs the same in every order",
        )
    moved = [
        sum(use.bytes_read + use.bytes_written for use in rank.files if use.interface != "stream")
        for rank in record.ranks
    ]
    return RecordedTraffic(
        graph=graph,
        nodes=names,
        slots=tuple(sum(node == number for node in node_of.values()) for number in range(len(names))),
        slots_before=slots_before,
        io_bytes=np.array(moved, dtype=np.float64),
        run=RecordedRun(
            wall_s=max(rank.wall_s for rank in record.ranks),
            exchange_s=_exchange_s(record),
            exact_bytes=float(sum(message.bytes for message in exact)),
            collectives=collectives.models,
        ),
    )


def _graph(ranks: int, exact: Sequence[Message], collectives: CollectiveTraffic) -> RankGraph:
    def column(values: Iterable[int], kind: type[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate((np.fromiter(values, dtype=kind), more))

    return graph_of(
        ranks,
        column((message.source for message in exact), np.int64, collectives.sources),
        column((message.destination for message in exact), np.int64, collectives.targets),
        column((message.bytes for message in exact), np.float64, collectives.bytes),
        messages=column((message.messages for message in exact), np.float64, collectives.messages),
    )


def _exchange_s(record: Record) -> float:
    """Return the seconds in sends, receives, waits, collectives and one-sided calls, mean of the ranks."""
    counted = {name for name, kind in record.function_classes.items() if kind in _EXCHANGING}
    spent = [sum(cell.time_s for cell in rank.cells if cell.function in counted) for rank in record.ranks]
    return sum(spent) / max(len(spent), 1)

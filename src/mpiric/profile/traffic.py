"""Traffic between ranks and between nodes, without collectives."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping

from mpiric.model.profile import Message
from mpiric.model.record import Record, TrafficKind

POINT_TO_POINT = frozenset({TrafficKind.MESSAGE})
ONE_SIDED = frozenset({TrafficKind.PUT, TrafficKind.GET})


def between_ranks(record: Record, kinds: Container[TrafficKind]) -> tuple[Message, ...]:
    """Return a sparse matrix by source and destination; data of MPI_Get flows from its target rank."""
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for rank in record.ranks:
        for peer in rank.peers:
            if peer.kind not in kinds or peer.world_rank is None:
                continue
            ends = (rank.rank, peer.world_rank)
            count = counts[ends[::-1] if peer.kind is TrafficKind.GET else ends]
            count[0] += peer.messages
            count[1] += peer.bytes
    return tuple(Message(source, to, *counts[source, to]) for source, to in sorted(counts))


def outside_bytes(record: Record) -> int:
    """Return the bytes sent to ranks of other worlds."""
    return sum(peer.bytes for rank in record.ranks for peer in rank.peers if peer.world_rank is None)


def nodes_of(record: Record) -> tuple[tuple[str, ...], dict[int, int]]:
    """Return host names in the order of their first rank, and rank → index of its host."""
    names: dict[str, int] = {}
    places = {
        rank.rank: names.setdefault(rank.facts.get("host", "unknown"), len(names)) for rank in record.ranks
    }
    return tuple(names), places


def between_nodes(traffic: Iterable[Message], places: Mapping[int, int]) -> tuple[Message, ...]:
    """Return traffic between nodes; ranks without a record are left out."""
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for message in traffic:
        if message.source in places and message.destination in places:
            count = counts[places[message.source], places[message.destination]]
            count[0] += message.messages
            count[1] += message.bytes
    return tuple(Message(source, to, *counts[source, to]) for source, to in sorted(counts))

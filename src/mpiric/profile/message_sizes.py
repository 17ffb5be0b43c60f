"""Sizes of messages by reach (node, network), including the messages of collectives."""

from collections import Counter
from collections.abc import Iterator, Mapping

from mpiric.model.profile import Carriers, MessageSizes
from mpiric.model.record import CallCell, RankRecord, Record
from mpiric.profile.cells import counted

# Collectives in which a rank forwards data of several others.
_GATHERING = ("gather", "scatter", "alltoall")
_SENDING = ("send", "persistent", "one_sided")
_SAME = 256  # relative resolution: sizes that differ by less than 1/256 count as one


def sizes_by_reach(
    record: Record, places: Mapping[int, int], carriers: Carriers
) -> dict[str, tuple[MessageSizes, ...]]:
    """Return reach → sizes. A record has no reach per size: a size counts for every reach of its rank."""
    counts_by_reach: dict[str, Counter[tuple[float, float]]] = {"node": Counter(), "network": Counter()}
    several_nodes, several_ranks = len(set(places.values())) > 1, len(places) > len(set(places.values()))
    for rank in record.ranks:
        for reach in _reaches(rank, places, several_nodes=several_nodes):
            for cell in counted(rank):
                if record.function_classes.get(cell.function) in _SENDING and _sends(cell):
                    counts_by_reach[reach][_about(cell.bytes / cell.calls)] += cell.calls
        for low, high, calls, without in _within_collectives(record, rank, carriers):
            if several_nodes:
                counts_by_reach["network"][low, high] += calls
            if several_ranks and (several_nodes or not without):
                counts_by_reach["node"][low, high] += calls
    sizes = {
        reach: tuple(MessageSizes(*bounds, count) for bounds, count in sorted(counts.items()))
        for reach, counts in counts_by_reach.items()
    }
    through_ucx = [size for reach in ("node", "network") if reach in carriers.ucx for size in sizes[reach]]
    return {**sizes, "ucx": tuple(through_ucx)}


def most_on_node(record: Record, places: Mapping[int, int], carriers: Carriers) -> int:
    """Return the most messages of a rank within its node, including its collectives."""
    one_node = len(set(places.values())) == 1
    return max(
        (
            sum(
                peer.messages
                for peer in rank.peers
                if peer.world_rank is None or _is_near(peer.world_rank, rank, places)
            )
            + sum(
                calls * len(places)
                for _, _, calls, without in _within_collectives(record, rank, carriers)
                if not (without and one_node)
            )
            for rank in record.ranks
        ),
        default=0,
    )


def _about(size: float) -> tuple[float, float]:
    """Round a size to its leading bits, so that sizes which differ by less than a header are equal."""
    unit = max(1, int(size) // _SAME)
    low = int(size) // unit * unit
    return float(low), float(low + unit - 1)


def _sends(cell: CallCell) -> bool:
    """Check whether the bytes of a cell are sent; bytes of persistent receives are only buffer space."""
    return cell.calls > 0 and cell.bytes > 0 and "ecv_init" not in cell.function


def _reaches(rank: RankRecord, places: Mapping[int, int], *, several_nodes: bool) -> list[str]:
    """Return the reaches of a rank's messages; messages to another world may have any."""
    peers = [peer for peer in rank.peers if peer.messages and peer.world_rank != rank.rank]
    near = any(_is_near(peer.world_rank, rank, places) for peer in peers)
    remote = any(not _is_near(peer.world_rank, rank, places) for peer in peers if peer.world_rank is not None)
    unknown = any(peer.world_rank is None for peer in peers)
    return [
        *(["node"] if near or unknown else []),
        *(["network"] if remote or (unknown and several_nodes) else []),
    ]


def _is_near(other: int | None, rank: RankRecord, places: Mapping[int, int]) -> bool:
    return other is not None and places.get(other) == places.get(rank.rank)


def _within_collectives(
    record: Record, rank: RankRecord, carriers: Carriers
) -> Iterator[tuple[float, float, int, bool]]:
    """Yield smallest and largest message of a collective, calls, and whether it may work without messages."""
    for cell in counted(rank):
        if record.function_classes.get(cell.function) != "collective" or cell.communicator is None:
            continue
        row = rank.communicators[cell.communicator]
        ranks = row.size + row.remote_size
        if ranks < 2 or not cell.calls or not cell.bytes:
            continue
        name = cell.function.removeprefix("MPI_").lower()
        size = cell.bytes / cell.calls
        passed_on = ranks if any(word in name for word in _GATHERING) else 1
        # Only blocking collectives have implementations without messages.
        yield size / ranks, size * passed_on, cell.calls, name in carriers.without_messages

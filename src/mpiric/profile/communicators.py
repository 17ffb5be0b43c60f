"""Communicators identified across ranks, their collectives, and the traffic between ranks and nodes."""

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Mapping

from mpiric.model.profile import CollectiveUse, CommunicatorUse, Message
from mpiric.model.record import CommunicatorRow, Record, TrafficKind
from mpiric.profile.cells import counted
from mpiric.profile.efficiency import Waiting

Key = Hashable


def key_of(row: CommunicatorRow) -> Key:
    """Return a key that is equal on all ranks of a communicator; communicators of one rank share a key."""
    if row.size == 1 and not row.remote_size:
        return (row.name, row.is_window)
    return (row.members, row.ordinal, row.is_window, row.is_between, row.size == 0 and row.name)


def _kind(row: CommunicatorRow) -> str:
    return "window" if row.is_window else "intercommunicator" if row.is_between else "communicator"


def _name(row: CommunicatorRow) -> str:
    return row.name or ("copy of MPI_COMM_WORLD" if row.is_world else f"{_kind(row)} of {row.size}")


def labels(record: Record) -> dict[Key, str]:
    """Return a name for each communicator; equal names are numbered."""
    rows: dict[Key, CommunicatorRow] = {}
    for rank in record.ranks:
        for row in rank.communicators:
            # MPI_Comm_set_name may have reached some ranks only.
            if key_of(row) not in rows or (row.name and not rows[key_of(row)].name):
                rows[key_of(row)] = row
    often = Counter(_name(row) for row in rows.values())
    numbers: Counter[str] = Counter()
    named: dict[Key, str] = {}
    for key, row in rows.items():
        name = _name(row)
        numbers[name] += 1
        named[key] = name if often[name] == 1 else f"{name} #{numbers[name]}"
    return named


def by_communicator(record: Record, names: Mapping[Key, str]) -> tuple[CommunicatorUse, ...]:
    """Return every communicator that was used, the most expensive first."""
    calls: dict[Key, int] = defaultdict(int)
    moved: dict[Key, int] = defaultdict(int)
    times: dict[Key, float] = defaultdict(float)
    members: dict[Key, list[int]] = defaultdict(list)
    rows: dict[Key, CommunicatorRow] = {}
    for rank in record.ranks:
        for row in rank.communicators:
            rows.setdefault(key_of(row), row)
            members[key_of(row)].append(rank.rank)
        for cell in counted(rank):
            if cell.communicator is not None:
                key = key_of(rank.communicators[cell.communicator])
                calls[key] += cell.calls
                moved[key] += cell.bytes
                times[key] += cell.time_s
    uses = [
        CommunicatorUse(
            names[key],
            row.size,
            _kind(row),
            tuple(sorted(set(members[key]))),
            calls[key],
            moved[key],
            times[key],
        )
        for key, row in rows.items()
        if calls[key]
    ]
    return tuple(sorted(uses, key=lambda use: (-use.time_s, use.label)))


def by_collective(record: Record, names: Mapping[Key, str], waiting: Waiting) -> tuple[CollectiveUse, ...]:
    """Return every collective on every communicator, the most expensive first."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    calls: dict[tuple[str, str], int] = defaultdict(int)
    moved: dict[tuple[str, str], int] = defaultdict(int)
    for rank in record.ranks:
        for cell in counted(rank):
            if record.function_classes.get(cell.function) != "collective":
                continue
            at = (
                cell.function,
                "" if cell.communicator is None else names[key_of(rank.communicators[cell.communicator])],
            )
            calls[at] += cell.calls
            moved[at] += cell.bytes
            sums[at][0] += cell.time_s
            sums[at][1] += waiting.waited_s(rank, cell)
    uses = [CollectiveUse(*at, calls[at], moved[at], *sums[at]) for at in calls]
    return tuple(sorted(uses, key=lambda use: (-use.time_s, use.name, use.communicator)))


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

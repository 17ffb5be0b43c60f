"""Ranks that each rank of a run waits for, from the MPI calls that have not returned."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf

from mpiric.model.dataclass import dataclass
from mpiric.model.record import OpenCall, ProcessState, RankRecord, RankState, Record
from mpiric.profile.communicators import Key, key_of, labels

FINALIZE = "MPI_Finalize"
# Collective functions that are not of the class `collective`. MPI_Comm_create_group is not collective.
_COLLECTIVE = re.compile(
    r"MPI_(Comm_(split|dup|idup|create(?!_group))|Cart_(create|sub)|(Dist_)?[Gg]raph_create|Intercomm_merge"
    r"|Win_(create|allocate|fence)|File_open|Comm_spawn)"
)
_MOST_SHOWN = 4  # requests or ranks


@dataclass(frozen=True, slots=True)
class Standing:
    """Call that a rank is in, and the ranks whose calls it needs to return; ranks of MPI_COMM_WORLD."""

    rank: int
    call: str = ""  # "" in application code
    kind: str = ""  # class of the function: send, receive, collective, wait, …
    lasted_s: float = 0.0  # time in the call; outside MPI, time since the latest call
    on: str = ""  # communicator
    amount: str = ""  # "160,000 bytes"
    toward: str = ""  # "to 1", "from 0"
    waits_for: frozenset[int] = frozenset()  # empty: nobody, or unknown
    any_of: bool = False  # one of these ranks is sufficient
    polls: str = ""  # polling function that it calls meanwhile
    has_record: bool = True
    looks_up: str = ""  # function that resolves a host name, in which it waits
    process: ProcessState | None = None

    @property
    def reads_input(self) -> bool:
        """Return whether it waits for standard input outside MPI."""
        return not self.call and self.process is not None and self.process.reads_standard_input


def standings(record: Record, now_unix_s: float) -> tuple[Standing, ...]:
    """Return the standing of each rank at a time; ranks without a record have not returned from MPI_Init."""
    groups = _Groups(record)
    present = (_standing(rank, groups, now_unix_s) for rank in record.ranks)
    absent = (unrecorded(rank, record.unrecorded.get(rank)) for rank in record.missing)
    return tuple(sorted((*present, *absent), key=lambda standing: standing.rank))


def unrecorded(rank: int, process: ProcessState | None, lasted_s: float = inf) -> Standing:
    """Return the standing of a rank without a record; the names of its functions are not known yet.

    ``lasted_s``: age of its process, the default after the end of its run.
    """
    return Standing(rank, lasted_s=lasted_s, has_record=False, process=process)


def _standing(rank: RankRecord, groups: "_Groups", now_unix_s: float) -> Standing:
    if rank.state is RankState.FINALIZED:
        lasted_s = now_unix_s - rank.begin_unix_s - rank.wall_s
        waits_for = groups.not_finalized if rank.process else frozenset[int]()  # it may have ended
        return Standing(rank.rank, FINALIZE, "collective", lasted_s, waits_for=waits_for)
    call = rank.call
    if call is None or rank.state is not RankState.RUNNING:
        since_s = now_unix_s - rank.left_unix_s if rank.left_unix_s else 0.0
        return Standing(rank.rank, lasted_s=since_s, polls=rank.polls, process=rank.process)
    needed = [groups.needed(rank, one) for one in (call.started if call.requests else (call,))]
    texts = [groups.toward(rank, one) for one in (call.started if call.requests else (call,))]
    any_of = call.function.startswith(("MPI_Waitany", "MPI_Waitsome")) or _is_any(call)
    is_known = all(needed) and (len(needed) >= call.requests or not any_of)
    return Standing(
        rank.rank,
        call.function,
        groups.kind(call.function),
        now_unix_s - call.entered_unix_s,
        groups.label(rank, call),
        "" if call.requests else _amount(call),
        _requests(call, texts) if call.requests else texts[0],
        frozenset().union(*needed) if is_known else frozenset(),
        any_of,
        process=rank.process,
    )


def _is_any(call: OpenCall) -> bool:
    """Return whether a message of any rank completes a call or the request that it waits for."""
    calls = call.started if call.requests == 1 else (call,)
    return any(one.peer is not None and one.peer < 0 and one.source is None for one in calls)


def _amount(call: OpenCall) -> str:
    if call.bytes is not None:
        return f"{call.bytes:,} bytes"
    return f"{call.count:,} elements" if call.count is not None else ""


def _requests(call: OpenCall, texts: Iterable[str]) -> str:
    calls = [
        " ".join(filter(None, (one.function, text))) for one, text in zip(call.started, texts, strict=True)
    ]
    number = f"{call.requests} requests" if call.requests > 1 else ""
    return ": ".join(filter(None, (number, ", ".join(calls[:_MOST_SHOWN]))))


class _Groups:
    """Members of the communicators, and how many collectives each has entered on them."""

    def __init__(self, record: Record) -> None:
        self._classes = record.function_classes
        self._names = labels(record)
        self._world = frozenset(range(record.world_size))
        self._members: dict[Key, dict[int, int]] = defaultdict(dict)  # rank in the communicator → rank
        self._entered: dict[Key, dict[int, tuple[int, str]]] = defaultdict(dict)  # number, function in flight
        finalized = {rank.rank for rank in record.ranks if rank.state is RankState.FINALIZED}
        self.not_finalized = self._world - finalized
        for rank in record.ranks:
            counts = self._counts(rank)
            for at, row in enumerate(rank.communicators):
                self._members[key_of(row)][row.rank] = rank.rank
                if row.is_world and row.name == "MPI_COMM_WORLD":
                    self._members[key_of(row)].update({other: other for other in self._world})
                function = ""
                if rank.call and rank.call.communicator == at and self._is_collective(rank.call.function):
                    function = rank.call.function
                if "cells" not in rank.lost:
                    # A run that was ended has a cell of the call in flight.
                    more = int(bool(function) and not record.ended_unix_s)
                    self._entered[key_of(row)][rank.rank] = (counts[at] + more, function)

    def _counts(self, rank: RankRecord) -> Mapping[int, int]:
        """Return the number of collectives on each communicator of a rank."""
        counts: dict[int, int] = defaultdict(int)
        for cell in rank.cells:
            if cell.communicator is not None and self._is_collective(cell.function):
                counts[cell.communicator] += cell.calls
        return counts

    def _is_collective(self, function: str) -> bool:
        return self._classes.get(function) == "collective" or _COLLECTIVE.match(function) is not None

    def kind(self, function: str) -> str:
        """Return the class of a function."""
        return "collective" if self._is_collective(function) else self._classes.get(function, "manage")

    def label(self, rank: RankRecord, call: OpenCall) -> str:
        """Return the name of a call's communicator, "" if it has none."""
        if call.communicator is None or call.communicator >= len(rank.communicators):
            return ""
        return self._names[key_of(rank.communicators[call.communicator])]

    def needed(self, rank: RankRecord, call: OpenCall) -> frozenset[int]:
        """Return the ranks that must act before a call returns; empty if that is unknown."""
        if call.communicator is None or call.communicator >= len(rank.communicators):
            return frozenset()
        row = rank.communicators[call.communicator]
        members = self._members[key_of(row)]
        if row.is_between:
            return frozenset()
        if self._is_collective(call.function):
            return self._late(rank.rank, key_of(row), frozenset(members.values()), call.function)
        senders = frozenset(members.values()) - {rank.rank}
        peers = [peer for peer in (call.peer, call.source) if peer is not None]
        if any(peer < 0 for peer in peers):  # a message of any rank
            return senders if len(peers) == 1 else frozenset()
        return frozenset(members[peer] for peer in peers if peer in members)

    def _late(self, rank: int, key: Key, members: frozenset[int], function: str) -> frozenset[int]:
        """Return the members that have entered fewer collectives, or are in another one instead."""
        entered = self._entered[key]
        if rank not in entered:
            return frozenset()
        number = entered[rank][0]
        late = set()
        for member in members:
            other_number, other = entered.get(member, (0, ""))
            if other_number < number or (other_number == number and other and other != function):
                late.add(member)
        return frozenset(late)

    def toward(self, rank: RankRecord, call: OpenCall) -> str:
        """Return the direction of a message: ``to 1``, ``from 0, tag 5``."""
        if call.peer is None or call.communicator is None or self._is_collective(call.function):
            return ""
        word = "from" if self.kind(call.function) in ("receive", "wait") else "to"
        text = f"{word} {self._name(rank, call, call.peer)}"
        if call.source is not None:
            text += f", from {self._name(rank, call, call.source)}"
        return f"{text}, tag {call.tag}" if call.tag is not None and call.tag > 0 else text

    def _name(self, rank: RankRecord, call: OpenCall, peer: int) -> str:
        if peer < 0:
            return "any rank"
        assert call.communicator is not None
        row = rank.communicators[call.communicator]
        member = None if row.is_between else self._members[key_of(row)].get(peer)
        return str(member) if member is not None else f"rank {peer} of {self.label(rank, call)}"

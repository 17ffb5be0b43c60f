"""Choice of the step marker: the rarest evenly spaced collective of all ranks, else the rarest send.

The user may name one instead: ``allreduce@app+0x48f2``, ``stdout:REGEX``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.pace import STDOUT, KeyPace, MarkKey, RunPace
from mpiric.tuning.objective import check_pattern

_COLLECTIVES = frozenset(
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce "
    "allreduce reduce_scatter reduce_scatter_block scan exscan".split()
)
_SENDS = frozenset("send bsend ssend rsend sendrecv sendrecv_replace start startall".split())
# Tolerated difference in calls between ranks, which are observed at different moments; the larger of both.
_CALLS_APART, _CALLS_APART_SHARE = 2, 0.02

_FEWEST_CALLS = 16
_SPAN = 0.8  # least time from the first call to the last, as a share of the observed time
_OFF_UNIFORM = 0.2  # largest distance of the calls' distribution from the uniform one (Kolmogorov–Smirnov)
_GAP = 0.25  # longest time without a call, as a share of the observed time

_EXAMPLE = "for example allreduce@app+0x48f2, bcast, send@*@4.0:400,1300 or 'stdout:^step '"
_PLACE = re.compile(r"[^@]{1,63}\+0x[0-9a-f]{1,16}")
_COMMUNICATOR = re.compile(r"([1-9]\d{0,8})\.(\d{1,8})")
_NUMBERS = re.compile(r":(\d{1,15}),(\d{1,15})$")


@dataclass(frozen=True)
class MarkChoice:
    """Key of the step marker, or None and the reason."""

    key: MarkKey | None
    why: str
    # Only rank 0 makes these calls equally often in every run (master and workers).
    on_rank_0_alone: bool = False
    few_calls: bool = False  # the calls are too rare to count steps: the loop is without MPI


def choose_key(pace: RunPace) -> MarkChoice:
    """Choose the step marker from one run of the original, which may still be running."""
    first = pace.first_rank
    if first is None:
        return MarkChoice(None, "rank 0 recorded no calls")
    other_ranks = [rank for rank in pace.ranks if rank.rank != 0]

    def is_on_all(candidate: KeyPace) -> bool:
        tolerance = max(_CALLS_APART, _CALLS_APART_SHARE * candidate.calls)
        calls = [rank.of(candidate.key) for rank in other_ranks]
        return all(same is not None and abs(same.calls - candidate.calls) <= tolerance for same in calls)

    def rarest(candidates: Iterable[tuple[KeyPace, bool]], name: str) -> MarkChoice | None:
        best = min(candidates, key=lambda pair: (not pair[1], pair[0].calls, pair[0].key), default=None)
        if best is None:
            return None
        calls, on_all = best
        why = f"the rarest {name} that comes evenly, {calls.calls} times in {first.seen_s:.3g} s"
        return MarkChoice(calls.key, why, on_rank_0_alone=not on_all)

    even = [calls for calls in first.keys if is_even(calls.times_s, calls.stride, first.seen_s)]
    collectives = [
        (calls, True)
        for calls in even
        if is_collective(calls.key.function) and calls.key.ranks in (0, pace.world_size) and is_on_all(calls)
    ]
    sends = [(calls, is_on_all(calls)) for calls in even if is_send(calls.key.function)]
    if choice := rarest(collectives, "collective of all ranks") or rarest(sends, "send"):
        return choice
    most_calls = max((calls.calls for calls in first.keys if may_be_mark(calls.key.function)), default=0)
    late_calls = max((calls_after(calls, first.seen_s / 2) for calls in first.keys), default=0)
    why = "no collective of all ranks and no send occurs at regular intervals"
    if most_calls < _FEWEST_CALLS:
        why = f"no call came more than {most_calls} times in {first.seen_s:.3g} s"
    return MarkChoice(None, why, few_calls=late_calls < _FEWEST_CALLS)


def is_even(times_s: Sequence[float], stride: int, seen_s: float) -> bool:
    """Return whether calls are evenly spaced in the second half of the observed time.

    The first half may be start-up.
    ``times_s`` are the times of every ``stride``-th call, ``seen_s`` is the end of the observation.
    """
    half_s = seen_s / 2
    late = [(time_s - half_s) / half_s for time_s in times_s if half_s <= time_s <= seen_s] if half_s else []
    count = len(late)
    if count * stride < _FEWEST_CALLS or late[-1] - late[0] < _SPAN:
        return False
    if any(after - before > _GAP for before, after in pairwise((0.0, *late, 1.0))):
        return False
    return all(
        abs(at - index / count) <= _OFF_UNIFORM and abs(at - (index + 1) / count) <= _OFF_UNIFORM
        for index, at in enumerate(late)
    )


def calls_after(pace: KeyPace, time_s: float) -> int:
    """Return the number of calls at or after a time, estimated from the recorded times."""
    return pace.stride * sum(at_s >= time_s for at_s in pace.times_s)


def without_places(pace: RunPace) -> RunPace:
    """Merge the call sites of each function and communicator: a rebuilt program has other addresses."""
    return merge_keys(pace, lambda key: replace(key, place=""))


def without_library_places(pace: RunPace) -> RunPace:
    """Merge the call sites within MPI libraries (the Fortran layer), which differ between libraries."""
    return merge_keys(pace, without_library_place)


def at_any_size(pace: RunPace) -> RunPace:
    """Return the run with only those calls that count the same steps with another number of ranks.

    These are collectives whose call site is used with communicators of all ranks only. Their keys match any
    communicator. The number of sends depends on the number of ranks.
    """
    of_parts = {
        (calls.key.function, calls.key.place)
        for rank in pace.ranks
        for calls in rank.keys
        if calls.key.ranks != pace.world_size
    }

    def is_kept(key: MarkKey) -> bool:
        return is_collective(key.function) and (key.function, key.place) not in of_parts

    ranks = tuple(
        replace(rank, keys=tuple(calls for calls in rank.keys if is_kept(calls.key))) for rank in pace.ranks
    )
    return merge_keys(replace(pace, ranks=ranks), lambda key: replace(key, ranks=0, birth=0))


def without_key(pace: RunPace, key: MarkKey) -> RunPace:
    """Return the run without the calls of one key."""
    ranks = tuple(
        replace(rank, keys=tuple(calls for calls in rank.keys if calls.key != key)) for rank in pace.ranks
    )
    return replace(pace, ranks=ranks)


def without_library_place(key: MarkKey) -> MarkKey:
    """Return the key; a call site within an MPI library is replaced by any call site."""
    return replace(key, place="") if key.place.startswith("libmpi") else key


def merge_keys(pace: RunPace, key_of: Callable[[MarkKey], MarkKey]) -> RunPace:
    """Rename the keys of a run by ``key_of`` and merge the calls of keys that become equal."""
    ranks = tuple(replace(rank, keys=tuple(_merged(rank.keys, key_of))) for rank in pace.ranks)
    return replace(pace, ranks=ranks)


def _merged(paces: Iterable[KeyPace], key_of: Callable[[MarkKey], MarkKey]) -> Iterable[KeyPace]:
    groups: dict[MarkKey, list[KeyPace]] = defaultdict(list)
    for pace in paces:
        groups[key_of(pace.key)].append(pace)
    for key, group in groups.items():
        if len(group) == 1:
            yield replace(group[0], key=key)
            continue
        # Strides may have no common multiple. The coarsest one samples all keys of the group evenly.
        stride = max(pace.stride for pace in group)
        times = sorted(time_s for pace in group for time_s in pace.times_s[:: stride // pace.stride])
        yield KeyPace(key, sum(pace.calls for pace in group), stride, tuple(times))


def may_be_mark(function: str) -> bool:
    """Return whether the number of calls depends on the work alone (not for polls, receives)."""
    return is_collective(function) or is_send(function)


def is_collective(function: str) -> bool:
    """Return whether all ranks of a communicator make this call together, blocking or not, or persistent."""
    return not _stems(function).isdisjoint(_COLLECTIVES)


def is_send(function: str) -> bool:
    """Return whether the call sends a message or starts persistent requests."""
    return not _stems(function).isdisjoint(_SENDS)


def _stems(function: str) -> set[str]:
    """Return the name in lower case, without "MPI_" and "_c" (large counts), with and without a leading I."""
    stem = function.removeprefix("MPI_").removesuffix("_c").lower()
    return {stem, stem.removeprefix("i")}


@dataclass(frozen=True)
class NamedMark:
    """Argument of --mark. In its key, "" matches any call site and 0 any communicator."""

    text: str  # argument as written
    key: MarkKey
    numbers: tuple[int, int] | None = None  # numbers of the two calls; None: mpiric chooses them


def parse_mark(text: str) -> NamedMark:
    """Parse ``FUNCTION[@MODULE+OFFSET[@RANKS.BIRTH]][:FIRST,LAST]`` or ``stdout:REGEX``.

    Raises MpiricError.
    """
    kind, colon, pattern = text.partition(":")
    if kind == STDOUT and colon:
        check_pattern(pattern, "--mark")
        return NamedMark(text, MarkKey(STDOUT, pattern, 0, 0))
    calls = _NUMBERS.search(text)
    numbers = (int(calls[1]), int(calls[2])) if calls else None
    if numbers and not 1 <= numbers[0] < numbers[1]:
        raise _error(f"the calls {numbers[0]} and {numbers[1]} of {text!r} must be ascending numbers from 1")
    word, *parts = (text[: calls.start()] if calls else text).split("@")
    place, communicator, *surplus = *parts, *("*" for _ in range(2 - len(parts)))
    if surplus:
        raise _error(f"{text!r} is not a mark: nothing may follow the communicator")
    if place != "*" and not _PLACE.fullmatch(place):
        raise _error(f"{place!r} in {text!r} is not a call site: expected MODULE+0xOFFSET")
    match = _COMMUNICATOR.fullmatch(communicator)
    if communicator != "*" and match is None:
        raise _error(
            f"{communicator!r} in {text!r} is not a communicator: expected RANKS.BIRTH, its size and the"
            " number of earlier communicators of that size"
        )
    ranks, birth = (int(match[1]), int(match[2])) if match else (0, 0)
    stem = word.lower().removeprefix("mpi_")
    function = f"MPI_{stem[:1].upper()}{stem[1:]}"
    if not may_be_mark(function):
        raise _error(
            f"{word or text!r} cannot be a mark: expected a collective, a send or a start of persistent ones"
        )
    return NamedMark(text, MarkKey(function, "" if place == "*" else place, ranks, birth), numbers)


def _error(sentence: str) -> MpiricError:
    return MpiricError(f"--mark: {sentence}", hint=_EXAMPLE)


def choose_named(pace: RunPace, named: NamedMark) -> tuple[RunPace, MarkChoice]:
    """Merge the calls that a named mark matches into one key; return the run and the choice of that key."""
    named_key = named.key

    def is_match(key: MarkKey) -> bool:
        return (
            key.function == named_key.function
            and named_key.place in ("", key.place)
            and (not named_key.ranks or (key.ranks, key.birth) == (named_key.ranks, named_key.birth))
        )

    pace = merge_keys(pace, lambda key: named_key if is_match(key) else key)
    calls_of = {rank.rank: calls for rank in pace.ranks if (calls := rank.of(named_key)) is not None}
    if 0 in calls_of and len(calls_of) == pace.world_size:
        return pace, MarkChoice(named_key, f"named by --mark, {calls_of[0].calls} times")
    if 0 in calls_of and is_send(named_key.function):
        return pace, MarkChoice(named_key, "named by --mark, of rank 0 alone", on_rank_0_alone=True)
    ranks = sorted(calls_of)
    if ranks:
        numbers = ", ".join(map(str, ranks[:3])) + (" and others" if len(ranks) > 3 else "")
        where = f"came on rank{'s' if len(ranks) > 1 else ''} {numbers} only"
    else:
        where = f"never came in {max((rank.seen_s for rank in pace.ranks), default=0.0):.3g} s"
    return pace, MarkChoice(None, f"the mark {named.text} {where}{_frequent_calls(pace)}")


def _frequent_calls(pace: RunPace) -> str:
    """Return the most frequent calls of rank 0 that may be marks, as a clause."""
    first = pace.first_rank
    calls = Counter(
        {pace.key: pace.calls for pace in first.keys if may_be_mark(pace.key.function)} if first else {}
    )
    frequent = [f"{mark_name(key)} {count} times" for key, count in calls.most_common(3)]
    return f"; rank 0 made {', '.join(frequent)}" if frequent else ""


def mark_name(key: MarkKey) -> str:
    """Return the name of a call as `parse_mark` reads it."""
    function = key.function.removeprefix("MPI_").lower()
    return f"{function}@{key.place or '*'}@{key.ranks}.{key.birth}"

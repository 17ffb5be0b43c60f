"""Step markers that the user names: ``allreduce@app+0x48f2``, ``stdout:REGEX``."""

import re
from collections import Counter

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.pace import STDOUT, MarkKey, RunPace
from mpiric.tuning.marks.choice import MarkChoice, is_send, may_be_mark, merge_keys

_EXAMPLE = "for example allreduce@app+0x48f2, bcast, send@*@4.0:400,1300 or 'stdout:^step '"
_PLACE = re.compile(r"[^@]{1,63}\+0x[0-9a-f]{1,16}")
_COMMUNICATOR = re.compile(r"([1-9]\d{0,8})\.(\d{1,8})")
_NUMBERS = re.compile(r":(\d{1,15}),(\d{1,15})$")


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
        try:
            re.compile(pattern)
        except re.error as error:
            raise MpiricError(f"--mark: {pattern!r} is not a regular expression: {error}") from error
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

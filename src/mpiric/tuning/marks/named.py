"""Marks that the user names: ``allreduce@app+0x48f2``, ``stdout:REGEX``."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from mpiric.model.errors import MpiricError
from mpiric.model.pace import STDOUT, MarkKey, RunPace
from mpiric.tuning.marks.choice import MarkChoice, is_send, may_be_mark, merge_keys

_EXAMPLE = "for example allreduce@app+0x48f2, bcast, send@*@4.0:400,1300 or 'stdout:^step '"
_PLACE = re.compile(r"[^@]{1,63}\+0x[0-9a-f]{1,16}")
_COMMUNICATOR = re.compile(r"([1-9]\d{0,8})\.(\d{1,8})")
_NUMBERS = re.compile(r":(\d{1,15}),(\d{1,15})$")


@dataclass(frozen=True)
class NamedMark:
    """What the user calls a mark: "" and 0 in its key stand for any place and any communicator."""

    text: str  # as it was written
    key: MarkKey
    numbers: tuple[int, int] | None = None  # of the two calls; None: to be chosen


def parse_mark(text: str) -> NamedMark:
    """Read ``FUNCTION[@MODULE+OFFSET[@RANKS.BIRTH]][:FIRST,LAST]`` or ``stdout:REGEX``.

    Raises MpiricError.
    """
    kind, colon, pattern = text.partition(":")
    if kind == STDOUT and colon:
        return NamedMark(text, MarkKey(STDOUT, _pattern(pattern), 0, 0))
    found = _NUMBERS.search(text)
    numbers = (int(found[1]), int(found[2])) if found else None
    if numbers and not 1 <= numbers[0] < numbers[1]:
        raise _wrong(f"the calls {numbers[0]} and {numbers[1]} of {text!r} are no two, one after the other")
    function, *rest = (text[: found.start()] if found else text).split("@")
    place, communicator, *more = *rest, *("*" for _ in range(2 - len(rest)))
    if more:
        raise _wrong(f"{text!r} is no mark: a communicator is the last part")
    if place != "*" and not _PLACE.fullmatch(place):
        raise _wrong(f"{place!r} in {text!r} is no place of a call: a file's name and an offset")
    known = _COMMUNICATOR.fullmatch(communicator)
    if communicator != "*" and known is None:
        raise _wrong(
            f"{communicator!r} in {text!r} is no communicator: its ranks, and how many as large before"
        )
    ranks, birth = (int(known[1]), int(known[2])) if known else (0, 0)
    return NamedMark(
        text, MarkKey(_function(function, text), "" if place == "*" else place, ranks, birth), numbers
    )


def _pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise MpiricError(f"--mark: {pattern!r} is no regular expression: {error}") from error
    return pattern


def _function(word: str, text: str) -> str:
    stem = word.lower().removeprefix("mpi_")
    name = f"MPI_{stem[:1].upper()}{stem[1:]}"
    if not may_be_mark(name):
        raise _wrong(
            f"{word or text!r} cannot be a mark: only collectives, sends and starts of persistent ones"
        )
    return name


def _wrong(sentence: str) -> MpiricError:
    return MpiricError(f"--mark: {sentence}", hint=_EXAMPLE)


def choose_named(pace: RunPace, named: NamedMark) -> tuple[RunPace, MarkChoice]:
    """The run with the calls that are meant as one key, and whether that can be a mark."""
    pace = merge_keys(pace, lambda key: named.key if _is_meant(key, named.key) else key)
    made = {rank.rank: calls for rank in pace.ranks if (calls := rank.of(named.key)) is not None}
    if 0 in made and len(made) == pace.world_size:
        return pace, MarkChoice(named.key, f"named by --mark, {made[0].calls} times")
    if 0 in made and is_send(named.key.function):
        return pace, MarkChoice(named.key, "named by --mark, of rank 0 alone", on_rank_0_alone=True)
    seen_s = max((rank.seen_s for rank in pace.ranks), default=0.0)
    where = f"came on {_some(made)} only" if made else f"never came in {seen_s:.3g} s"
    return pace, MarkChoice(None, f"the mark {named.text} {where}{_others(pace)}")


def _is_meant(key: MarkKey, wanted: MarkKey) -> bool:
    return (
        key.function == wanted.function
        and wanted.place in ("", key.place)
        and (not wanted.ranks or (key.ranks, key.birth) == (wanted.ranks, wanted.birth))
    )


def _some(ranks: Iterable[int]) -> str:
    numbers = sorted(ranks)
    shown = ", ".join(str(number) for number in numbers[:3])
    return f"rank{'s' if len(numbers) > 1 else ''} {shown}{' and others' if len(numbers) > 3 else ''}"


def _others(pace: RunPace) -> str:
    """The calls of rank 0 that come most often and could be marks."""
    first = pace.first_rank
    calls = Counter(
        {each.key: each.calls for each in first.keys if may_be_mark(each.key.function)} if first else {}
    )
    often = [f"{mark_name(key)} {count} times" for key, count in calls.most_common(3)]
    return f"; rank 0 made {', '.join(often)}" if often else ""


def mark_name(key: MarkKey) -> str:
    """A call as `parse_mark` reads it."""
    function = key.function.removeprefix("MPI_").lower()
    return f"{function}@{key.place or '*'}@{key.ranks}.{key.birth}"

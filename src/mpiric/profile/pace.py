"""Pace of a run from its record: calls told apart as all runs can tell them, and when they were made."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpiric.model.pace import KeyPace, MarkKey, RankPace, RunPace
from mpiric.model.record import CommunicatorRow, Record
from mpiric.profile.call_places import Modules, in_module, modules_of

Row = tuple[int, int, int, int, int, int, int]  # as the record has it


def read_pace(
    rows: Sequence[Row],
    times_s: Sequence[Sequence[float]],
    names: Sequence[str],
    communicators: Sequence[CommunicatorRow],
    facts: Mapping[str, str],
    *,
    gathered: bool,
) -> Iterator[KeyPace]:
    """Rows of one rank's record as keys; ``gathered``: the last communicator stands for several.

    Raises ValueError. What was called on a window, between groups, or on communicators that found no row has
    no key.
    """
    births = list(_births(communicators))
    if gathered and births:
        births[-1] = None
    modules = modules_of(facts)
    for position, (address, function, communicator, calls, _, stride, kept) in enumerate(rows):
        if function >= len(names) or stride == 0:
            raise ValueError("a kind of call contradicts itself")
        birth = births[communicator] if communicator < len(births) else None
        if birth is None:
            continue
        kept_s = times_s[position][:kept] if position < len(times_s) else ()
        key = MarkKey(names[function], _place(address, modules), *birth)
        yield KeyPace(key, calls, stride, tuple(_ascending(kept_s)))


def run_pace(record: Record) -> RunPace:
    """What marks are chosen from. A run may still be under way: then up to the latest call that was timed."""
    ranks = [
        RankPace(
            rank.rank,
            max([rank.wall_s, *(each.times_s[-1] for each in rank.pace if each.times_s)]),
            rank.pace,
        )
        for rank in record.ranks
    ]
    return RunPace(record.world_size, tuple(ranks))


def _births(communicators: Iterable[CommunicatorRow]) -> Iterator[tuple[int, int] | None]:
    """Size and number among those of its size, of each communicator of one group; None for others."""
    made: Counter[int] = Counter()
    for row in communicators:
        if row.is_window or row.is_between:
            yield None
            continue
        yield row.size, made[row.size]
        made[row.size] += 1


def _place(address: int, modules: Modules) -> str:
    path, offset = in_module(address, modules)
    return f"{path.rpartition('/')[2]}+{offset:#x}" if path else ""


def _ascending(times_s: Iterable[float]) -> Iterator[float]:
    """Times up to the first that is out of order: a rank that runs may just be dropping every second one."""
    latest = float("-inf")
    for time_s in times_s:
        if time_s < latest:
            return
        yield time_s
        latest = time_s

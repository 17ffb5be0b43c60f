"""Pace of a run: kinds of calls, identified across runs, and the times of their calls."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpiric.model.pace import KeyPace, MarkKey, RankPace, RunPace
from mpiric.model.record import CommunicatorRow, Record

_MODULE = "module."
Modules = list[tuple[int, str]]  # start and path, by start
Row = tuple[int, int, int, int, int, int, int]  # row of the record


def read_pace(
    rows: Sequence[Row],
    times_s: Sequence[Sequence[float]],
    names: Sequence[str],
    communicators: Sequence[CommunicatorRow],
    facts: Mapping[str, str],
    *,
    gathered: bool,
) -> Iterator[KeyPace]:
    """Convert the rows of a rank to keys; ``gathered``: the last communicator represents several.

    Calls on windows, intercommunicators and communicators without a row have no key. Raises ValueError.
    """
    births = list(_births(communicators))
    if gathered and births:
        births[-1] = None
    modules = modules_of(facts)
    for position, (address, function, communicator, calls, _, stride, count) in enumerate(rows):
        if function >= len(names) or stride == 0:
            raise ValueError("a kind of call is inconsistent")
        birth = births[communicator] if communicator < len(births) else None
        if birth is None:
            continue
        kept_s = times_s[position][:count] if position < len(times_s) else ()
        path, offset = in_module(address, modules)
        key = MarkKey(names[function], f"{path.rpartition('/')[2]}+{offset:#x}" if path else "", *birth)
        yield KeyPace(key, calls, stride, tuple(_ascending(kept_s)))


def run_pace(record: Record) -> RunPace:
    """Return the input of the choice of step markers; for an active run up to the latest timed call."""
    ranks = [
        RankPace(
            rank.rank,
            max([rank.wall_s, *(pace.times_s[-1] for pace in rank.pace if pace.times_s)]),
            rank.pace,
        )
        for rank in record.ranks
    ]
    return RunPace(record.world_size, tuple(ranks))


def _births(communicators: Iterable[CommunicatorRow]) -> Iterator[tuple[int, int] | None]:
    """Yield size, and number among communicators of this size; None for windows and intercommunicators."""
    counts: Counter[int] = Counter()
    for row in communicators:
        if row.is_window or row.is_between:
            yield None
            continue
        yield row.size, counts[row.size]
        counts[row.size] += 1


def _ascending(times_s: Iterable[float]) -> Iterator[float]:
    """Yield times up to the first one out of order: an active rank may be dropping every second one."""
    latest = float("-inf")
    for time_s in times_s:
        if time_s < latest:
            return
        yield time_s
        latest = time_s


def modules_of(facts: Mapping[str, str]) -> Modules:
    """Return each file that a rank called MPI from, by the facts of its record."""
    modules = []
    for key, path in facts.items():
        if key.startswith(_MODULE):
            try:
                modules.append((int(key.removeprefix(_MODULE), 16), path))
            except ValueError:
                continue
    return sorted(modules)


def in_module(address: int, modules: Modules) -> tuple[str, int]:
    """Return path and offset of an address; "" and the address itself if no file is mapped there."""
    at = bisect_right(modules, address, key=lambda module: module[0]) - 1
    return (modules[at][1], address - modules[at][0]) if at >= 0 else ("", address)

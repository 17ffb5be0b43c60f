"""The calls of a program about which nothing was decided: which of them matter, and what to try for them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf

from mpiric.model.policy import LIBRARY, REDUCING, UNSIZED, LearnedKey, LearnedPolicy
from mpiric.tuning.policy.sampling import Subject
from mpiric.workflows.sweep.request import COLLECTIVES

_MATTERS = 0.01  # of the run's wall time: what takes less of it shows in no proof
_LEAST_BYTES = 4  # one element of what the benchmark reduces
_MOST_BYTES = 64 << 20  # size × ranks: a rank of the benchmark has twice that


def undecided(learned: LearnedPolicy, *, rounding: bool) -> tuple[LearnedKey, ...]:
    """Keys that are not decided, and that the benchmark can make calls of."""
    return tuple(
        key
        for key in learned.keys
        if not key.decided
        and key.collective in COLLECTIVES
        and (rounding or key.collective not in REDUCING)
        and size_of(key) * key.shape.ranks <= _MOST_BYTES
    )


def that_matter(
    keys: Iterable[LearnedKey], own_s: Mapping[tuple[Subject, int], float], wall_s: float
) -> tuple[LearnedKey, ...]:
    """Keys in whose calls a run of ``wall_s`` spends some of its time, on all parts of the job together.

    ``own_s`` is what a call takes by the library when nothing is in its way. What the program may itself
    have seen has waiting for late ranks in it, which no algorithm shortens.
    """
    keys = [key for key in keys if kind_of(key) in own_s]
    spent_s: dict[tuple[Subject, int], float] = defaultdict(float)
    for key in keys:
        spent_s[kind_of(key)] += key.calls * own_s[kind_of(key)]
    return tuple(key for key in keys if spent_s[kind_of(key)] >= _MATTERS * wall_s)


def by_promise(subject: Subject, names: Iterable[str], keys: Iterable[LearnedKey]) -> tuple[str, ...]:
    """Sort candidates as they are to be tried: there may be no time for all.

    The library comes first, then what was the faster beside it in the program's own few calls; what was
    not seen there counts as equal to the library.
    """
    seen: dict[str, float] = {}
    for key in keys:
        own = next((each.median_s for each in key.candidates if each.name == LIBRARY), 0.0)
        if kind_of(key)[0] == subject and own > 0:
            for each in key.candidates:
                seen[each.name] = min(each.median_s / own, seen.get(each.name, inf))
    return tuple(sorted(names, key=lambda name: (name != LIBRARY, seen.get(name, 1.0))))


def size_of(key: LearnedKey) -> int:
    """The size that stands for a key's."""
    return 0 if key.collective in UNSIZED else max(key.start, _LEAST_BYTES)


def kind_of(key: LearnedKey) -> tuple[Subject, int]:
    """What the benchmark measures for a key: its collective and ranks, and a size."""
    return Subject(key.collective, key.shape.anywhere()), size_of(key)

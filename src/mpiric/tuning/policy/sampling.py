"""Which points a sweep measures next: active sampling instead of the full grid of sizes and candidates.

FACT (Wilkins et al., ExaMPI 2021) and ACCLAiM (Wilkins et al., CLUSTER 2022) train a model of the time while
they sample, and measure next where it is the least sure. Here a candidate's time is taken to be linear
between the sizes it was measured at, both axes logarithmic, and what there is to be unsure about is where one
candidate overtakes another: sizes between two neighbours with different winners are halved until the winners
are neighbours on the grid, or one is within the noise of the other. A candidate that loses by a factor at
both ends of a stretch is not measured within it. Sizes that a policy cannot tell apart are measured all.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log

from mpiric.model.policy import LIBRARY, UNSIZED, LearnedKey, Measured, Shape
from mpiric.tuning.policy.together import NOISE, BySize, is_slower, nowhere_slower

_HOPELESS = 1.5  # times the best at both ends of a stretch
STRIDE = 4  # of the first pass over the sizes of the grid
_CONTENDERS = 3  # of those that seem to beat the library: the best of many is often only the luckiest


@dataclass(frozen=True, order=True)
class Subject:
    """One collective on one communicator."""

    collective: str
    shape: Shape

    @property
    def has_one_choice(self) -> bool:
        """Whether a policy has one choice for calls of all sizes."""
        return self.collective in UNSIZED and not self.collective.endswith("barrier")


@dataclass(frozen=True, order=True)
class SweepPoint:
    """One measurement to make."""

    subject: Subject
    size: int
    candidate: str


Times = Mapping[SweepPoint, Measured]
Grids = Mapping[Subject, Sequence[int]]  # the sizes of each, ascending


def next_points(
    grids: Grids, candidates: Mapping[Subject, Sequence[str]], measured: Times, stride: int = STRIDE
) -> tuple[SweepPoint, ...]:
    """The next round, candidates in their order; empty when nothing more is worth a measurement."""
    found: list[SweepPoint] = []
    for subject, grid in grids.items():
        if subject.has_one_choice:
            found += _at_all(subject, grid, candidates[subject], measured)
            continue
        first = sorted({*range(0, len(grid), stride), len(grid) - 1})
        wanted = {SweepPoint(subject, grid[at], name) for at in first for name in candidates[subject]}
        missing = wanted - measured.keys()
        found += missing or _between(subject, grid, candidates[subject], measured)

    def turn(point: SweepPoint) -> tuple[Subject, int, int]:
        return point.subject, candidates[point.subject].index(point.candidate), point.size

    return tuple(sorted(found, key=turn))


def _at_all(subject: Subject, grid: Sequence[int], names: Sequence[str], measured: Times) -> list[SweepPoint]:
    """Both ends, then what lies between for all that are not slower than the library at an end."""
    ends = [SweepPoint(subject, size, name) for size in (grid[0], grid[-1]) for name in names]
    if missing := [point for point in dict.fromkeys(ends) if point not in measured]:
        return missing

    def loses(name: str) -> bool:
        both = ((SweepPoint(subject, size, name), SweepPoint(subject, size, LIBRARY)) for size in grid)
        return any(
            his in measured and own in measured and is_slower(measured[his], measured[own])
            for his, own in both
        )

    left = [SweepPoint(subject, size, name) for name in names if not loses(name) for size in grid]
    return [point for point in left if point not in measured]


def _between(
    subject: Subject, grid: Sequence[int], names: Sequence[str], measured: Times
) -> list[SweepPoint]:
    measured_at = [at for at, size in enumerate(grid) if SweepPoint(subject, size, LIBRARY) in measured]
    points: list[SweepPoint] = []
    for low, high in pairwise(measured_at):
        if high - low < 2:
            continue
        ends = [_times(subject, grid[at], names, measured) for at in (low, high)]
        if _same_winner(*ends):
            continue
        middle = grid[(low + high) // 2]
        points += [
            SweepPoint(subject, middle, name)
            for name in names
            if name == LIBRARY or not all(_hopeless(name, times) for times in ends)
        ]
    return [point for point in points if point not in measured]


def _times(subject: Subject, size: int, names: Iterable[str], measured: Times) -> dict[str, float]:
    there = ((name, measured.get(SweepPoint(subject, size, name))) for name in names)
    return {name: each.median_s for name, each in there if each is not None}


def _same_winner(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether some candidate is within the noise of the best at both ends."""
    common = first.keys() & second.keys()
    return any(
        first[name] <= min(first.values()) * (1 + NOISE)
        and second[name] <= min(second.values()) * (1 + NOISE)
        for name in common
    )


def _hopeless(name: str, times: Mapping[str, float]) -> bool:
    return name not in times or times[name] > _HOPELESS * min(times.values())


def grid_points(grids: Grids, candidates: Mapping[Subject, Sequence[str]]) -> int:
    """Measurements of the full grid."""
    return sum(len(candidates[subject]) * len(grid) for subject, grid in grids.items())


def winners(measured: Times) -> tuple[SweepPoint, ...]:
    """Where candidates seem to beat the library: the best of them and the library, to be measured afresh.

    The best of many noisy times is too good to be true; what a policy rests on must not be what chose it.
    """
    found: list[SweepPoint] = []
    for subject, by_size in _by_subject(measured).items():
        if subject.has_one_choice:
            ahead = _ahead_of_all(by_size, by_size.keys())
            found += _contest(subject, by_size, ahead)
            continue
        for size, there in by_size.items():
            found += _contest(subject, (size,), _ahead(there) if LIBRARY in there else [])
    return tuple(sorted(found))


def _contest(subject: Subject, sizes: Iterable[int], ahead: Sequence[Measured]) -> list[SweepPoint]:
    names = (LIBRARY, *(each.name for each in ahead[:_CONTENDERS])) if ahead else ()
    return [SweepPoint(subject, size, name) for size in sizes for name in names]


def _by_subject(measured: Times) -> dict[Subject, dict[int, dict[str, Measured]]]:
    subjects: dict[Subject, dict[int, dict[str, Measured]]] = defaultdict(lambda: defaultdict(dict))
    for point, times in measured.items():
        subjects[point.subject][point.size][point.candidate] = times
    return subjects


def confirmed(measured: Times, fresh: Times) -> dict[SweepPoint, Measured]:
    """Times measured, the fresh ones alone wherever there are any."""
    places = {(point.subject, point.size) for point in fresh}
    kept = {p: times for p, times in measured.items() if (p.subject, p.size) not in places}
    return {**kept, **fresh}


def learned_keys(
    measured: Times,
    grids: Grids,
    unconfirmed: Iterable[SweepPoint] = (),
    disturbed: Collection[SweepPoint] = (),
) -> tuple[LearnedKey, ...]:
    """A key for every size of the grid, from what was measured there or between its neighbours.

    A size stands for all from itself to the next; the smallest also for less, the largest for more. A gain at
    an ``unconfirmed`` point is none yet: nothing is decided there, nor between it and its neighbours. Times
    of ``disturbed`` points are not ranked; where the library's own is among them nothing is decided.
    """
    doubtful: dict[Subject, set[int]] = defaultdict(set)
    for point in unconfirmed:
        doubtful[point.subject].add(point.size)
    keys: list[LearnedKey] = []
    ranked = _by_subject({point: times for point, times in measured.items() if point not in disturbed})
    for subject, with_disturbed in sorted(_by_subject(measured).items()):
        grid, by_size = grids[subject], ranked[subject]
        if subject.has_one_choice:
            unsure = bool(doubtful[subject])
            decided = _for_all_sizes(subject, by_size, grid, unconfirmed=unsure)
            measured_keys = _for_all_sizes(subject, with_disturbed, grid, unconfirmed=unsure)
            keys += decided or [_open(key) for key in measured_keys]
            continue
        for at, size in enumerate(grid):
            start = 0 if at == 0 else size
            end = grid[at + 1] if at + 1 < len(grid) else None
            there = _at(size, by_size)
            if LIBRARY not in there:
                if LIBRARY in (all_times := _at(size, with_disturbed)):
                    keys.append(_open(_key(subject, start, end, all_times, all_times[LIBRARY])))
                continue
            key = _key(subject, start, end, there, _chosen(there))
            if key.candidate != LIBRARY and doubtful[subject] & _rests_on(size, by_size):
                key = _open(key)
            keys.append(key)
    return tuple(keys)


def _for_all_sizes(
    subject: Subject, by_size: BySize, grid: Sequence[int], *, unconfirmed: bool
) -> list[LearnedKey]:
    """One key; none as long as the library was not measured at every size."""
    times = nowhere_slower(by_size, grid)
    if not times:
        return []
    chosen = next(iter(_ahead_of_all(by_size, grid)), times[LIBRARY])
    key = _key(subject, 0, None, times, chosen)
    return [_open(key) if unconfirmed and key.candidate != LIBRARY else key]


def _open(key: LearnedKey) -> LearnedKey:
    return replace(key, candidate=LIBRARY, decided=False, confidence=0.0)


def _rests_on(size: int, by_size: Mapping[int, Mapping[str, Measured]]) -> set[int]:
    """Measured sizes from which the times at a size are taken."""
    if size in by_size:
        return {size}
    below = max((each for each in by_size if each < size), default=size)
    return {below, min((each for each in by_size if each > size), default=size)}


def _at(size: int, by_size: Mapping[int, Mapping[str, Measured]]) -> dict[str, Measured]:
    """Times at a size: measured there, or on the line between the nearest sizes that have the candidate."""
    if size in by_size:
        return dict(by_size[size])
    names = {name for times in by_size.values() for name in times}
    found = {}
    for name in names:
        below = max((s for s, times in by_size.items() if s < size and name in times), default=None)
        above = min((s for s, times in by_size.items() if s > size and name in times), default=None)
        if below is not None and above is not None:
            found[name] = _interpolated(size, below, by_size[below][name], above, by_size[above][name])
    return found


def _interpolated(size: int, low: int, first: Measured, high: int, second: Measured) -> Measured:
    weight = log(size / max(low, 1)) / log(high / max(low, 1))

    def between(below_s: float, above_s: float) -> float:
        return exp((1 - weight) * log(max(below_s, 1e-12)) + weight * log(max(above_s, 1e-12)))

    return Measured(
        first.name,
        min(first.calls, second.calls),
        between(first.median_s, second.median_s),
        between(first.low_s, second.low_s),
        between(first.high_s, second.high_s),
    )


def _chosen(times: Mapping[str, Measured]) -> Measured:
    """The best, unless the library's own choice is within the noise of it."""
    return next(iter(_ahead(times)), times[LIBRARY])


def _ahead(times: Mapping[str, Measured]) -> list[Measured]:
    """Candidates faster than the library's own choice beyond the noise, the best first."""
    own = times[LIBRARY]
    apart = (each for each in times.values() if each.median_s * (1 + NOISE) < own.median_s)
    return sorted(
        (each for each in apart if each.high_s < own.median_s), key=lambda each: (each.median_s, each.name)
    )


def _ahead_of_all(by_size: BySize, sizes: Collection[int]) -> list[Measured]:
    """Candidates faster than the library at some size and slower at none, the best over all sizes first."""
    some = {each.name for size in sizes if LIBRARY in by_size[size] for each in _ahead(by_size[size])}
    kept = [each for name, each in nowhere_slower(by_size, sizes).items() if name in some]
    return sorted(kept, key=lambda each: (each.median_s, each.name))


def _key(
    subject: Subject, start: int, end: int | None, times: Mapping[str, Measured], chosen: Measured
) -> LearnedKey:
    own = times[LIBRARY]
    return LearnedKey(
        collective=subject.collective,
        shape=subject.shape,
        start=start,
        end=end,
        candidate=chosen.name,
        decided=True,
        confidence=0.95 if chosen is not own and chosen.high_s < own.low_s else 0.75,
        calls=sum(each.calls for each in times.values()),
        learning_calls=sum(each.calls for each in times.values()),
        learning_s=sum(max(0.0, each.median_s - chosen.median_s) * each.calls for each in times.values()),
        candidates=tuple(times[name] for name in sorted(times, key=lambda name: times[name].median_s)),
    )

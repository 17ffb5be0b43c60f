"""Selection of the points that a sweep measures next: active sampling instead of the full grid.

FACT (Wilkins et al., ExaMPI 2021) and ACCLAiM (Wilkins et al., CLUSTER 2022) train a model of the time while
they sample, and measure next where it is least certain. Here a candidate's time is assumed to be linear
between the measured sizes, both axes logarithmic, and the uncertainty is where one candidate overtakes
another: the interval between two neighbouring sizes with different winners is halved until the winners are
neighbours on the grid, or one is within the noise of the other. A candidate that is much slower at both ends
of an interval is not measured within it.

No rank of an alltoallv, gatherv or scatterv knows the sizes on other ranks, so that a policy has one
candidate for all sizes (`Subject.has_one_choice`). All sizes of the grid are measured. A candidate that is
slower than the library at one of them is excluded, because a program may make just that call. The others are
ranked by their geometric mean over the sizes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from statistics import geometric_mean

from mpiric.model.dataclass import dataclass
from mpiric.model.policy import LIBRARY, UNSIZED, LearnedKey, Measured, Shape

NOISE = 0.03  # relative difference up to which two times count as equal
STRIDE = 4  # stride of the first pass over the sizes of the grid
_TINY_S = 1e-12
# A candidate this many times slower than the best at both ends of an interval is not measured within it.
_HOPELESS = 1.5
# Number of apparent winners that are measured again: the best of many is often only the luckiest.
_CONTENDERS = 3


@dataclass(frozen=True, order=True)
class Subject:
    """Collective on a communicator."""

    collective: str
    shape: Shape

    @property
    def has_one_choice(self) -> bool:
        """Return whether a policy has one candidate for calls of all sizes."""
        return self.collective in UNSIZED and not self.collective.endswith("barrier")


@dataclass(frozen=True, order=True)
class SweepPoint:
    """Measurement to make."""

    subject: Subject
    size: int
    candidate: str


Times = Mapping[SweepPoint, Measured]
TimesBySize = Mapping[int, Mapping[str, Measured]]  # size → candidate → times
Grids = Mapping[Subject, Sequence[int]]  # ascending sizes of each subject


def next_points(
    grids: Grids, candidates: Mapping[Subject, Sequence[str]], measured: Times, stride: int = STRIDE
) -> tuple[SweepPoint, ...]:
    """Return the next points to measure, in the order of the candidates; empty when the sweep is complete."""
    points: list[SweepPoint] = []
    for subject, grid in grids.items():
        if subject.has_one_choice:
            points += _at_all_sizes(subject, grid, candidates[subject], measured)
            continue
        first = sorted({*range(0, len(grid), stride), len(grid) - 1})
        first_pass = {SweepPoint(subject, grid[at], name) for at in first for name in candidates[subject]}
        missing = first_pass - measured.keys()
        points += missing or _between(subject, grid, candidates[subject], measured)

    def turn(point: SweepPoint) -> tuple[Subject, int, int]:
        return point.subject, candidates[point.subject].index(point.candidate), point.size

    return tuple(sorted(points, key=turn))


def _at_all_sizes(
    subject: Subject, grid: Sequence[int], names: Sequence[str], measured: Times
) -> list[SweepPoint]:
    """Return both ends of the grid, then all sizes for candidates not slower than the library so far."""
    ends = [SweepPoint(subject, size, name) for size in (grid[0], grid[-1]) for name in names]
    if missing := [point for point in dict.fromkeys(ends) if point not in measured]:
        return missing

    def was_slower(name: str) -> bool:
        pairs = ((SweepPoint(subject, size, name), SweepPoint(subject, size, LIBRARY)) for size in grid)
        return any(
            point in measured and library in measured and _is_slower(measured[point], measured[library])
            for point, library in pairs
        )

    remaining = [SweepPoint(subject, size, name) for name in names if not was_slower(name) for size in grid]
    return [point for point in remaining if point not in measured]


def _between(
    subject: Subject, grid: Sequence[int], names: Sequence[str], measured: Times
) -> list[SweepPoint]:
    """Return the middle of each interval whose ends have different winners."""
    measured_at = [at for at, size in enumerate(grid) if SweepPoint(subject, size, LIBRARY) in measured]
    points: list[SweepPoint] = []
    for low, high in pairwise(measured_at):
        if high - low < 2:
            continue
        ends = [
            {
                name: measured[point].median_s
                for name in names
                if (point := SweepPoint(subject, grid[at], name)) in measured
            }
            for at in (low, high)
        ]
        common = ends[0].keys() & ends[1].keys()
        if any(all(times[name] <= min(times.values()) * (1 + NOISE) for times in ends) for name in common):
            continue  # one candidate is within the noise of the best at both ends
        middle = grid[(low + high) // 2]
        hopeless = {
            name
            for name in names
            if all(name not in times or times[name] > _HOPELESS * min(times.values()) for times in ends)
        }
        points += [SweepPoint(subject, middle, name) for name in names if name not in hopeless - {LIBRARY}]
    return [point for point in points if point not in measured]


def grid_points(grids: Grids, candidates: Mapping[Subject, Sequence[str]]) -> int:
    """Return the number of measurements of the full grid."""
    return sum(len(candidates[subject]) * len(grid) for subject, grid in grids.items())


def winners(measured: Times) -> tuple[SweepPoint, ...]:
    """Return the apparent winners and the library wherever a candidate seems faster, to be measured again.

    The best of many noisy times is biased, so the times that select a candidate must not confirm it.
    """
    points: list[SweepPoint] = []
    for subject, by_size in _by_subject(measured).items():
        if subject.has_one_choice:
            points += _contest(subject, by_size, _ahead_at_all(by_size, by_size.keys()))
            continue
        for size, times in by_size.items():
            points += _contest(subject, (size,), _ahead(times) if LIBRARY in times else [])
    return tuple(sorted(points))


def _contest(subject: Subject, sizes: Iterable[int], ahead: Sequence[Measured]) -> list[SweepPoint]:
    names = (LIBRARY, *(times.name for times in ahead[:_CONTENDERS])) if ahead else ()
    return [SweepPoint(subject, size, name) for size in sizes for name in names]


def _by_subject(measured: Times) -> dict[Subject, dict[int, dict[str, Measured]]]:
    subjects: dict[Subject, dict[int, dict[str, Measured]]] = defaultdict(lambda: defaultdict(dict))
    for point, times in measured.items():
        subjects[point.subject][point.size][point.candidate] = times
    return subjects


def confirmed(measured: Times, fresh: Times) -> dict[SweepPoint, Measured]:
    """Return the measured times; at subjects and sizes with fresh times, only these."""
    replaced = {(point.subject, point.size) for point in fresh}
    unchanged = {
        point: times for point, times in measured.items() if (point.subject, point.size) not in replaced
    }
    return {**unchanged, **fresh}


def learned_keys(
    measured: Times,
    grids: Grids,
    unconfirmed: Iterable[SweepPoint] = (),
    disturbed: Collection[SweepPoint] = (),
) -> tuple[LearnedKey, ...]:
    """Return a key for every size of the grid, from measurements there or at neighbouring sizes.

    A key covers the sizes up to the next one; the smallest also covers smaller ones. A gain at an
    ``unconfirmed`` point does not count yet: the keys that depend on it are undecided. Times of ``disturbed``
    points are not ranked; where the library's time is among them the key is undecided.
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
            keys += decided or [_undecided(key) for key in measured_keys]
            continue
        for at, size in enumerate(grid):
            start = 0 if at == 0 else size
            end = grid[at + 1] if at + 1 < len(grid) else None
            times = _at(size, by_size)
            if LIBRARY not in times:
                if LIBRARY in (all_times := _at(size, with_disturbed)):
                    keys.append(_undecided(_key(subject, start, end, all_times, all_times[LIBRARY])))
                continue
            key = _key(subject, start, end, times, next(iter(_ahead(times)), times[LIBRARY]))
            if key.candidate != LIBRARY:
                sources = {size}
                if size not in by_size:
                    below = max((other for other in by_size if other < size), default=size)
                    above = min((other for other in by_size if other > size), default=size)
                    sources = {below, above}
                if doubtful[subject] & sources:
                    key = _undecided(key)
            keys.append(key)
    return tuple(keys)


def _for_all_sizes(
    subject: Subject, by_size: TimesBySize, grid: Sequence[int], *, unconfirmed: bool
) -> list[LearnedKey]:
    """Return one key for all sizes; none unless the library was measured at every size."""
    times = _nowhere_slower(by_size, grid)
    if not times:
        return []
    chosen = next(iter(_ahead_at_all(by_size, grid)), times[LIBRARY])
    key = _key(subject, 0, None, times, chosen)
    return [_undecided(key) if unconfirmed and key.candidate != LIBRARY else key]


def _undecided(key: LearnedKey) -> LearnedKey:
    return replace(key, candidate=LIBRARY, decided=False, confidence=0.0)


def _at(size: int, by_size: TimesBySize) -> dict[str, Measured]:
    """Return the times at a size, measured or interpolated between the nearest sizes with the candidate."""
    if size in by_size:
        return dict(by_size[size])
    names = {name for times in by_size.values() for name in times}
    times_at = {}
    for name in names:
        below = max((s for s, times in by_size.items() if s < size and name in times), default=None)
        above = min((s for s, times in by_size.items() if s > size and name in times), default=None)
        if below is not None and above is not None:
            times_at[name] = _interpolated(size, below, by_size[below][name], above, by_size[above][name])
    return times_at


def _interpolated(size: int, low: int, first: Measured, high: int, second: Measured) -> Measured:
    def between(below_s: float, above_s: float) -> float:
        return time_between(size, (low, below_s), (high, above_s))

    return Measured(
        first.name,
        min(first.calls, second.calls),
        between(first.median_s, second.median_s),
        between(first.low_s, second.low_s),
        between(first.high_s, second.high_s),
    )


def time_between(size: int, below: tuple[int, float], above: tuple[int, float]) -> float:
    """Interpolate a time between two sizes and their times, linearly on logarithmic axes."""
    low = max(below[0], 1)
    weight = log(size / low) / log(above[0] / low)
    return exp((1 - weight) * log(max(below[1], _TINY_S)) + weight * log(max(above[1], _TINY_S)))


def _ahead(times: Mapping[str, Measured]) -> list[Measured]:
    """Return the candidates that are faster than the library's default beyond the noise, fastest first."""
    library = times[LIBRARY]
    ahead = [
        candidate
        for candidate in times.values()
        if candidate.median_s * (1 + NOISE) < library.median_s and candidate.high_s < library.median_s
    ]
    return sorted(ahead, key=lambda candidate: (candidate.median_s, candidate.name))


def _ahead_at_all(by_size: TimesBySize, sizes: Collection[int]) -> list[Measured]:
    """Return the candidates faster than the library at some size and slower at none, fastest first."""
    ahead = {times.name for size in sizes if LIBRARY in by_size[size] for times in _ahead(by_size[size])}
    candidates = [times for name, times in _nowhere_slower(by_size, sizes).items() if name in ahead]
    return sorted(candidates, key=lambda times: (times.median_s, times.name))


def _is_slower(candidate: Measured, library: Measured) -> bool:
    return candidate.median_s > library.median_s * (1 + NOISE)


def _nowhere_slower(by_size: TimesBySize, sizes: Collection[int]) -> dict[str, Measured]:
    """Return the candidates that are not slower than the library at any size, with their mean times.

    Empty unless the library was measured at every size.
    """
    if not sizes or any(LIBRARY not in by_size.get(size, ()) for size in sizes):
        return {}
    names = set.intersection(*(set(by_size[size]) for size in sizes))
    equal = [
        name
        for name in names
        if not any(_is_slower(by_size[size][name], by_size[size][LIBRARY]) for size in sizes)
    ]
    return {name: over_sizes([by_size[size][name] for size in sizes]) for name in sorted(equal)}


def over_sizes(several: Collection[Measured]) -> Measured:
    """Return the geometric mean of a candidate's times over sizes, all with the same weight."""

    def mean(times_s: list[float]) -> float:
        return geometric_mean(max(time_s, _TINY_S) for time_s in times_s)

    (name,) = {times.name for times in several}
    middle = mean([times.median_s for times in several])
    return Measured(
        name,
        sum(times.calls for times in several),
        middle,
        min(middle, mean([times.low_s for times in several])),
        max(middle, mean([times.high_s for times in several])),
    )


def _key(
    subject: Subject, start: int, end: int | None, times: Mapping[str, Measured], chosen: Measured
) -> LearnedKey:
    library = times[LIBRARY]
    calls = sum(candidate.calls for candidate in times.values())
    return LearnedKey(
        collective=subject.collective,
        shape=subject.shape,
        start=start,
        end=end,
        candidate=chosen.name,
        decided=True,
        confidence=0.95 if chosen is not library and chosen.high_s < library.low_s else 0.75,
        calls=calls,
        learning_calls=calls,
        learning_s=sum(max(0.0, t.median_s - chosen.median_s) * t.calls for t in times.values()),
        candidates=tuple(times[name] for name in sorted(times, key=lambda name: times[name].median_s)),
    )

"""Screening: one setting after the other on top of the best so far."""

from mpiric.model.trial import Outcome
from mpiric.tuning.bench import Bench
from mpiric.tuning.effects import UNPROMISING
from mpiric.tuning.ranking import live_levels, only_live, rank
from mpiric.tuning.space import Point

_SHARE = 0.7  # of the runs; the rest looks for combinations
_FRUITLESS = 5  # unpromising settings in a row that brought nothing: the rest is left to the model
_ORIGINAL_EVERY = 12  # runs between two of the original: the machine's mood changes


def screen(bench: Bench, runs: int) -> None:
    """Try each level once while its share of ``runs`` lasts, best first by promise.

    What promises nothing comes after all that does, and ends when several in a row brought nothing.
    """
    last = len(bench.trials) + max(1, int(runs * _SHARE)) if runs > 5 else len(bench.trials) + runs
    likely, unlikely = _levels(bench)
    for factor, level in likely:
        if len(bench.trials) >= last:
            return
        _try(bench, factor, level)
    fruitless = 0
    for factor, level in unlikely:
        if len(bench.trials) >= last or (likely and fruitless >= _FRUITLESS):
            return
        _try(bench, factor, level)
        fruitless = 0 if level in live_levels(bench)[factor] else fruitless + 1


def _try(bench: Bench, factor: int, level: int) -> None:
    """Run the best so far with one level more, now and then the original before it."""
    if any(point[factor] == level for point in bench.points):
        return  # known from runs made ahead
    if len(bench.trials) % _ORIGINAL_EVERY == _ORIGINAL_EVERY - 1:
        bench.run(bench.original)
    base = only_live(rank(bench)[0].point, live_levels(bench)) if bench.points else bench.original
    point = _with(base, factor, level)
    if point == base or not bench.may_work(point):
        return
    trial = bench.run(point)
    if trial.outcome is not Outcome.OK and any(base) and point in bench.failed:
        _blame(bench, _with(bench.original, factor, level))


def _levels(bench: Bench) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Levels of promising and of other factors, each in the order of trying.

    A promising factor's second guess may come before another's first.
    """
    turns = sorted(
        ((turn + 1) / (0.1 + factor.score), index, level + 1)
        for index, factor in enumerate(bench.space.factors)
        for turn, level in enumerate(factor.order)
    )
    split: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for _, index, level in turns:
        split[bench.space.factors[index].score < UNPROMISING].append((index, level))
    return split


def _blame(bench: Bench, alone: Point) -> None:
    """Find out whether a setting fails by itself or only together with the others."""
    if bench.may_work(alone) and alone not in bench.points and bench.runs_left() >= 10:
        bench.run(alone)


def _with(point: Point, factor: int, level: int) -> Point:
    return (*point[:factor], level, *point[factor + 1 :])

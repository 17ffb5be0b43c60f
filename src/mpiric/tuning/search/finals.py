"""The end of a search: the finalists against each other, and what does not contribute taken back."""

from mpiric.tuning.search.evaluator import Evaluator
from mpiric.tuning.search.ranking import WORTH, Ranked, doubtful, rank
from mpiric.tuning.search.space import Point

_FINALISTS = 4
_CLOSE = 2.0  # standard deviations within which a point may still be the best
_SURE_RUNS = 3  # of the winner and of what may replace it


def hold_finals(evaluator: Evaluator, runs: int) -> None:
    """Successive halving: all finalists and the original run once a round, then the worse half leaves."""
    finalists = _close_to_best(rank(evaluator))[:_FINALISTS]
    last = len(evaluator.trials) + runs
    first = True
    while len(finalists) > 1 and len(evaluator.trials) + len(finalists) <= last:
        for point in [evaluator.original, *finalists] if first and runs > 8 else finalists:
            evaluator.run(point)
        first = False
        order = [entry.point for entry in rank(evaluator) if entry.point in finalists]
        finalists = order[: max(2, (len(order) + 1) // 2)] if len(order) > 2 else order
        if len(finalists) == 2 and not _undecided(rank(evaluator), finalists):
            return


def _close_to_best(ranked: list[Ranked]) -> list[Point]:
    best = ranked[0]
    return [
        entry.point
        for entry in ranked
        if entry.mean - best.mean <= _CLOSE * (entry.deviation + best.deviation) + WORTH and any(entry.point)
    ]


def _undecided(ranked: list[Ranked], finalists: list[Point]) -> bool:
    best, second = [entry for entry in ranked if entry.point in finalists][:2]
    return second.mean - best.mean < _CLOSE * (best.deviation + second.deviation)


def prune(evaluator: Evaluator) -> None:
    """Take settings back, all that seem useless at once and then one by one, while it gets no slower."""
    tried: set[Point] = set()
    while ranked := rank(evaluator):
        winner = ranked[0].point
        smaller = next((point for point in _smaller(evaluator, winner) if point not in tried), None)
        if smaller is None:
            return
        tried.add(smaller)
        while evaluator.runs_of(smaller) < _SURE_RUNS and _may_replace(evaluator, smaller, winner):
            evaluator.run(smaller)
            if evaluator.may_work(smaller) and evaluator.runs_of(winner) < _SURE_RUNS:
                evaluator.run(winner)


def _smaller(evaluator: Evaluator, winner: Point) -> list[Point]:
    """The winner without everything that is not shown to contribute, then without one of it."""
    useless = doubtful(evaluator, winner)
    together = tuple(min(levels) for levels in zip(*useless, strict=True))
    return [p for p in dict.fromkeys([*([together] if together else []), *useless]) if evaluator.may_work(p)]


def _may_replace(evaluator: Evaluator, smaller: Point, winner: Point) -> bool:
    if not evaluator.may_work(smaller) or smaller in evaluator.stopped:
        return False
    means, _ = evaluator.effects().predict([smaller, winner])
    return bool(means[0] - means[1] <= WORTH)

"""The end of a search with many runs: the finalists against each other."""

from mpiric.model.run import Plan
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import WORTH, Ranked, rank
from mpiric.tuning.search.space import Point

_FINALISTS = 4
_CLOSE = 2.0  # standard deviations within which a point may still be the best


def hold_finals(evaluator: Evaluator, runs: int) -> Plan[None]:
    """Successive halving: all finalists and the original run once a round, then the worse half leaves."""
    finalists = _close_to_best(rank(evaluator))[:_FINALISTS]
    last = len(evaluator.trials) + runs
    first = True
    while len(finalists) > 1 and len(evaluator.trials) + len(finalists) <= last:
        for point in [evaluator.original, *finalists] if first and runs > 8 else finalists:
            yield from evaluator.run(point)
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

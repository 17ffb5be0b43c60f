"""The search: from what the observation suggests to one or two candidates worth proving.

1. Screening: one setting after the other on top of the best so far, the most promising first. A setting that
   helps stays, so winners combine as they are found and interactions are met on the way.
2. Model-based: expected improvement by what all runs together say (`effects`, `improvement`), among
   neighbours of the best and combinations of good settings. It runs anew
   whatever may still be the best, so that contenders are measured often and losers once.
   It ends as soon as no configuration promises a gain that the proof could call (`effort`).
3. Settings of the best that are not seen to contribute are taken back (`slimming`).

Runs that are clearly slower than the best are stopped early. What fails is never tried again, nor is any
configuration that contains it. The decisions follow from the seed and the measurements alone, so an
interrupted search repeats them from the recorded trials and goes on.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp

from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.evidence import Share
from mpiric.model.run import Plan
from mpiric.model.trial import Outcome, Trial
from mpiric.plans.effort import NORMAL, Effort
from mpiric.plans.evaluator import Evaluator, OutOfBudgetError
from mpiric.plans.exploration import explore
from mpiric.plans.ranking import SHOWN, Ranked, contributions, rank, slimmest, without_heavy
from mpiric.plans.screening import screen
from mpiric.plans.slimming import slim
from mpiric.tuning.budget import Budget
from mpiric.tuning.search.space import Point, SearchSpace

_ORIGINAL_FAILURES = 3
_MOST_BASELINE = 4  # runs of the original before anything else
_MOST_CANDIDATES = 2
_OF_95 = 1.96  # standard deviations


@dataclass(frozen=True)
class ProofCandidate:
    """A configuration worth proving; its gain is the search's own estimate and proves nothing."""

    configuration: Configuration
    expected_ratio: float  # original ÷ candidate
    doubtful: tuple[str, ...] = ()  # knobs whose settings are not seen to contribute, the most useless first
    evident: tuple[str, ...] = ()  # those whose settings are, beyond doubt
    shares: tuple[Share, ...] = ()  # estimated, of its settings
    is_clear: bool = False  # a gap separates its runs from those of the original


@dataclass(frozen=True)
class SearchResult:
    """``candidates``, the best first, none when nothing seems faster; what was ``rejected``, and why."""

    candidates: tuple[ProofCandidate, ...]
    rejected: tuple[tuple[Configuration, str], ...]
    disturbed_runs: int = 0  # runs slowed by something else on the machine
    runs: int = 0
    left_out: tuple[Configuration, float] | None = None  # settings too heavy for their gain, and that gain


def search(
    evaluator: Evaluator, effort: Effort = NORMAL, seed: int = 0, effect: float = 0.01, last: Point = ()
) -> Plan[SearchResult]:
    """Look for configurations that are faster by the minimum effect, by the estimate of the search.

    ``last`` is the answer of an earlier search, which is tried first.

    A KeyboardInterrupt passes through; `best_so_far` makes a result of the trials recorded until then.
    """
    with suppress(OutOfBudgetError):
        yield from _baseline(evaluator)
        if evaluator.space.factors:
            if any(last) and evaluator.may_work(last) and not evaluator.runs_of(last):
                yield from evaluator.run(last)
            yield from screen(evaluator)
            yield from explore(evaluator, effort, effect, seed)
            yield from slim(evaluator, effort, effect)
    return _result(evaluator, effect)


def best_so_far(space: SearchSpace, trials: Iterable[Trial]) -> SearchResult:
    """Result of recorded trials alone, without a run: after an interruption."""
    evaluator = Evaluator(space, Budget())
    evaluator.take(trials)
    return _result(evaluator)


def _baseline(evaluator: Evaluator) -> Plan[None]:
    """Run the original twice, to have something to compare with; more often where one was disturbed."""
    failures = 0
    while (runs := evaluator.runs_of(evaluator.original)) < 2 or (
        runs < _MOST_BASELINE and evaluator.is_original_disturbed()
    ):
        trial = yield from evaluator.run(evaluator.original)
        failures += trial.outcome is not Outcome.OK
        if failures == _ORIGINAL_FAILURES:
            raise ProgramFailedError(
                f"the unchanged command failed {failures} times: {trial.reason or trial.outcome.value}",
                hint="it must run reliably as it stands before anything can be tuned",
            )


def _ratio(evaluator: Evaluator, measured: Ranked, ranked: list[Ranked]) -> float:
    original = next((entry.mean for entry in ranked if entry.point == evaluator.original), measured.mean)
    return exp(original - measured.mean)


def _result(evaluator: Evaluator, least_gain: float = 0.0) -> SearchResult:
    by_gain = rank(evaluator)
    ranked = without_heavy(evaluator, by_gain)
    left_out = _left_out(evaluator, by_gain[0], ranked[0]) if ranked else None
    if ranked and any(ranked[0].point):
        slim = evaluator.minimal or slimmest(evaluator, ranked[0].point)
        if evaluator.weight(slim) <= evaluator.weight(ranked[0].point):
            ranked.sort(key=lambda entry: entry.point != slim)  # stable: the rest stays in its order
    candidates: list[ProofCandidate] = []
    for entry in ranked:
        if entry.point == evaluator.original or len(candidates) == _MOST_CANDIDATES:
            break  # what is behind the original is no candidate
        ratio = _ratio(evaluator, entry, ranked)
        if ratio > 1 + least_gain and not evaluator.was_slower(entry.point):
            is_clear = evaluator.is_separated(entry.point, least_gain)
            candidates.append(replace(_candidate(evaluator, entry, ratio), is_clear=is_clear))
    disturbed = evaluator.effects().disturbed_runs if evaluator.points else 0
    runs = len(evaluator.points)
    return SearchResult(tuple(candidates), evaluator.rejected(), disturbed, runs, left_out)


def _left_out(evaluator: Evaluator, best: Ranked, chosen: Ranked) -> tuple[Configuration, float] | None:
    """The heavy settings of the best point that the chosen one lacks, and what they seem to gain."""
    point = tuple(
        level if factor.weight and level != other else 0
        for factor, level, other in zip(evaluator.space.factors, best.point, chosen.point, strict=True)
    )
    ratio = exp(chosen.mean - best.mean)
    is_told = any(point) and ratio > 1 + SHOWN and not evaluator.was_slower(best.point)
    return (evaluator.space.configuration(point), ratio) if is_told else None


def _candidate(evaluator: Evaluator, entry: Ranked, expected_ratio: float) -> ProofCandidate:
    estimates = contributions(evaluator, entry.point)
    knobs = [factor.knob for factor in evaluator.space.factors]
    return ProofCandidate(
        evaluator.space.configuration(entry.point),
        expected_ratio,
        tuple(knobs[each.factor] for each in reversed(estimates) if each.is_doubtful),
        tuple(knobs[each.factor] for each in estimates if each.is_evident),
        tuple(
            estimated_share(
                knobs[each.factor],
                exp(each.mean),
                [exp(each.mean + side * _OF_95 * each.deviation) for side in (-1, 1)],
                sum(not point[each.factor] for point in evaluator.points),
            )
            for each in estimates
            if len(estimates) > 1
        ),
    )


def estimated_share(knob: str, ratio: float, interval: Sequence[float], runs: int) -> Share:
    """Return what a setting contributes by the model, from so many runs without it and all others."""
    why = "estimated from all runs of the search"
    return Share((knob,), ratio, interval[0], interval[1], runs, shown=False, why=why, is_estimated=True)

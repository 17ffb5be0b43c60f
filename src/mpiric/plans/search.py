"""Search for one or two candidates worth proving.

1. Screening: one setting after the other on top of the best point, most promising first. A setting that helps
   stays, so that winners are combined immediately and interactions are observed.
2. Model-based search: expected improvement from all runs (`effects`), among neighbours of the best and
   combinations of good settings. Points that may still be the best run again, so that contenders are
   measured often and losers once. It ends when no point has an expected gain that the proof could call
   (`effort`).
3. Slimming: settings of the best point that do not seem to contribute are removed (`slimming`).

Runs that are clearly slower than the best are stopped early. Points that contain a failed point are not
tried. All decisions follow from the seed and the measurements, so that an interrupted search repeats them
from the recorded trials and continues.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import exp

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ProgramFailedError
from mpiric.model.evidence import Share
from mpiric.model.run import Outcome, Plan, Trial
from mpiric.plans.evaluator import Evaluator, OutOfBudgetError
from mpiric.plans.ranking import (
    SHOWN,
    Ranked,
    contributions,
    predicted,
    rank,
    slimmest,
    without_heavy,
)
from mpiric.plans.stages import NORMAL, Effort, explore, screen, slim
from mpiric.statistics.space import Point, SearchSpace
from mpiric.tuning.objective import Budget

_ORIGINAL_FAILURES = 3
_MOST_BASELINE = 4  # limit of the runs of the original at the beginning
_MOST_CANDIDATES = 2
_OF_95 = 1.96  # half width of a 95 % interval in standard deviations


@dataclass(frozen=True)
class ProofCandidate:
    """Configuration worth proving, with estimates by the search."""

    configuration: Configuration
    expected_ratio: float  # original ÷ candidate
    doubtful: tuple[str, ...] = ()  # knobs whose contribution is doubtful, smallest first
    evident: tuple[str, ...] = ()  # knobs whose contribution is certain
    shares: tuple[Share, ...] = ()  # estimated contributions of the settings
    is_clear: bool = False  # a gap separates its runs from the runs of the original


@dataclass(frozen=True)
class SearchResult:
    """Result of a search."""

    candidates: tuple[ProofCandidate, ...]  # best first; empty if nothing seems faster
    # Configurations that failed or were stopped, and the reason.
    rejected: tuple[tuple[Configuration, str], ...]
    disturbed_runs: int = 0  # number of runs that were slowed by other processes
    runs: int = 0
    left_out: tuple[Configuration, float] | None = None  # settings too heavy for their gain, and that gain


def search(
    evaluator: Evaluator, effort: Effort = NORMAL, seed: int = 0, effect: float = 0.01, last: Point = ()
) -> Plan[SearchResult]:
    """Search for configurations with an estimated gain of at least the minimum effect.

    ``last`` is the answer of an earlier search, which runs first. A KeyboardInterrupt passes through;
    `best_so_far` returns a result from the trials recorded until then.
    """
    with suppress(OutOfBudgetError):
        failures = 0
        while (runs := evaluator.runs_of(evaluator.original)) < 2 or (
            runs < _MOST_BASELINE and evaluator.is_original_disturbed()
        ):
            trial = yield from evaluator.run(evaluator.original)
            failures += trial.outcome is not Outcome.OK
            if failures == _ORIGINAL_FAILURES:
                raise ProgramFailedError(
                    f"the unchanged command failed {failures} times: {trial.reason or trial.outcome.value}",
                    hint="tuning needs a command that runs reliably without changes",
                )
        if evaluator.space.factors:
            if any(last) and evaluator.may_work(last) and not evaluator.runs_of(last):
                yield from evaluator.run(last)
            yield from screen(evaluator)
            yield from explore(evaluator, effort, effect, seed)
    if evaluator.space.factors:
        yield from slim(evaluator, effort, effect)
    return _result(evaluator, effect)


def best_so_far(space: SearchSpace, trials: Iterable[Trial]) -> SearchResult:
    """Return a result from recorded trials only, after an interruption."""
    evaluator = Evaluator(space, Budget())
    evaluator.take(trials)
    return _result(evaluator)


def _result(evaluator: Evaluator, least_gain: float = 0.0) -> SearchResult:
    evaluator.begin_choosing()
    by_gain = rank(evaluator)
    ranked = without_heavy(evaluator, by_gain)
    left_out = _left_out(evaluator, by_gain[0], ranked[0]) if ranked else None
    if ranked and any(ranked[0].point):
        smallest = evaluator.minimal or slimmest(evaluator, ranked[0].point)
        if evaluator.weight(smallest) <= evaluator.weight(ranked[0].point):
            first = next((entry for entry in ranked if entry.point == smallest), None)
            first = first or predicted(evaluator, [smallest])[0]  # no run was left for it
            ranked = [first, *(entry for entry in ranked if entry is not first)]
    original = next((entry.mean for entry in ranked if entry.point == evaluator.original), None)
    candidates: list[ProofCandidate] = []
    for entry in ranked:
        if entry.point == evaluator.original or len(candidates) == _MOST_CANDIDATES:
            break  # points after the original are not candidates
        ratio = 1.0 if original is None else exp(original - entry.mean)
        if ratio > 1 + least_gain and not evaluator.was_slower(entry.point):
            is_clear = evaluator.is_separated(entry.point, least_gain)
            candidates.append(replace(_candidate(evaluator, entry, ratio), is_clear=is_clear))
    disturbed = evaluator.effects().disturbed_runs if evaluator.points else 0
    runs = len(evaluator.points)
    return SearchResult(tuple(candidates), evaluator.rejected(), disturbed, runs, left_out)


def _left_out(evaluator: Evaluator, best: Ranked, chosen: Ranked) -> tuple[Configuration, float] | None:
    """Return the heavy settings of the best point that the chosen one lacks, and their estimated gain."""
    point = tuple(
        level if factor.weight and level != other else 0
        for factor, level, other in zip(evaluator.space.factors, best.point, chosen.point, strict=True)
    )
    ratio = exp(chosen.mean - best.mean)
    is_reported = any(point) and ratio > 1 + SHOWN and not evaluator.was_slower(best.point)
    return (evaluator.space.configuration(point), ratio) if is_reported else None


def _candidate(evaluator: Evaluator, entry: Ranked, expected_ratio: float) -> ProofCandidate:
    estimates = contributions(evaluator, entry.point)
    knobs = [factor.knob for factor in evaluator.space.factors]
    return ProofCandidate(
        evaluator.space.configuration(entry.point),
        expected_ratio,
        tuple(knobs[setting.factor] for setting in reversed(estimates) if setting.is_doubtful),
        tuple(knobs[setting.factor] for setting in estimates if setting.is_evident),
        tuple(
            estimated_share(
                knobs[setting.factor],
                exp(setting.mean),
                [exp(setting.mean + side * _OF_95 * setting.deviation) for side in (-1, 1)],
                sum(not point[setting.factor] for point in evaluator.points),
            )
            for setting in estimates
            if len(estimates) > 1
        ),
    )


def estimated_share(knob: str, ratio: float, interval: Sequence[float], runs: int) -> Share:
    """Return the estimated contribution of a setting; ``runs`` is the number of runs without it."""
    why = "estimated from all runs of the search"
    return Share((knob,), ratio, interval[0], interval[1], runs, shown=False, why=why, is_estimated=True)

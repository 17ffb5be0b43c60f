"""Search for one or two candidates worth proving, by runs of different configurations.

`search` runs in turn:

1. The original, at least twice; then the answer of an earlier search, if there is one.
2. Screening (`screen`): one setting after the other on top of the best point, most promising first. A setting
   that helps stays, so that winners are combined immediately and interactions are observed.
3. Model-based search (`explore`): expected improvement from all runs (`effects`), among neighbours of the
   best and combinations of good settings. Points that may still be the best run again, so that contenders are
   measured often and losers once. It ends when no point has an expected gain that the proof could call.
4. Slimming (`slim`): settings of the best point that do not seem to contribute are removed.

Then `_result` selects the candidates. A point is a configuration as a tuple with the index of the value of
each knob, 0 for the original's.

Runs that are clearly slower than the best are stopped early. Points that contain a failed point are not
tried. All decisions follow from the seed and the measurements, so that an interrupted search repeats them
from the recorded trials and continues.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
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

_ORIGINAL_FAILURES = 3  # failed runs of the original after which the search gives up
_MOST_BASELINE = 4  # limit of the runs of the original at the beginning
_MOST_CANDIDATES = 2  # the second one is proved if the first fails
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
    has_settings = bool(evaluator.space.factors)
    with suppress(OutOfBudgetError):
        yield from _run_original(evaluator)
        if has_settings:
            if any(last) and evaluator.may_work(last) and not evaluator.runs_of(last):
                yield from evaluator.run(last)
            yield from screen(evaluator)
            yield from explore(evaluator, effort, effect, seed)
    if has_settings:
        yield from slim(evaluator, effort, effect)
    return _result(evaluator, effect)


def _run_original(evaluator: Evaluator) -> Plan[None]:
    """Run the original twice, or up to `_MOST_BASELINE` times if other processes disturb it."""
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


def best_so_far(space: SearchSpace, trials: Iterable[Trial]) -> SearchResult:
    """Return a result from recorded trials only, after an interruption."""
    evaluator = Evaluator(space, Budget())
    evaluator.take(trials)
    return _result(evaluator)


def _result(evaluator: Evaluator, minimum_gain: float = 0.0) -> SearchResult:
    """Select the candidates: points faster than the original, with few and preferably light settings."""
    evaluator.begin_choosing()
    by_gain = rank(evaluator)
    ranked = without_heavy(evaluator, by_gain)
    left_out = _heavy_settings(evaluator, by_gain[0], ranked[0]) if ranked else None
    if ranked and any(ranked[0].point):
        # The best point without settings that do not contribute becomes the first candidate.
        slim_point = evaluator.minimal or slimmest(evaluator, ranked[0].point)
        if evaluator.weight(slim_point) <= evaluator.weight(ranked[0].point):
            first = next((entry for entry in ranked if entry.point == slim_point), None)
            first = first or predicted(evaluator, [slim_point])[0]  # no run was left for it
            ranked = [first, *(entry for entry in ranked if entry is not first)]
    original = next((entry.mean for entry in ranked if entry.point == evaluator.original), None)
    candidates: list[ProofCandidate] = []
    for entry in ranked:
        if entry.point == evaluator.original or len(candidates) == _MOST_CANDIDATES:
            break  # points after the original are not candidates
        ratio = 1.0 if original is None else exp(original - entry.mean)
        if ratio > 1 + minimum_gain and not evaluator.was_slower(entry.point):
            is_clear = evaluator.is_separated(entry.point, minimum_gain)
            candidates.append(_candidate(evaluator, entry.point, ratio, is_clear=is_clear))
    disturbed = evaluator.effects().disturbed_runs if evaluator.points else 0
    return SearchResult(tuple(candidates), evaluator.rejected(), disturbed, len(evaluator.points), left_out)


def _heavy_settings(evaluator: Evaluator, best: Ranked, chosen: Ranked) -> tuple[Configuration, float] | None:
    """Return the heavy settings of the best point that the chosen one lacks, and their estimated gain."""
    point = tuple(
        level if factor.weight and level != other else 0
        for factor, level, other in zip(evaluator.space.factors, best.point, chosen.point, strict=True)
    )
    ratio = exp(chosen.mean - best.mean)
    is_reported = any(point) and ratio > 1 + SHOWN and not evaluator.was_slower(best.point)
    return (evaluator.space.configuration(point), ratio) if is_reported else None


def _candidate(
    evaluator: Evaluator, point: Point, expected_ratio: float, *, is_clear: bool
) -> ProofCandidate:
    """Return a point as a candidate, with the estimated contribution of each of its settings."""
    estimates = contributions(evaluator, point)  # largest first
    knobs = [factor.knob for factor in evaluator.space.factors]
    shares = []
    for setting in estimates if len(estimates) > 1 else ():
        half_width = _OF_95 * setting.deviation
        interval = (exp(setting.mean - half_width), exp(setting.mean + half_width))
        runs_without = sum(not measured[setting.factor] for measured in evaluator.points)
        shares.append(estimated_share(knobs[setting.factor], exp(setting.mean), interval, runs_without))
    return ProofCandidate(
        evaluator.space.configuration(point),
        expected_ratio,
        doubtful=tuple(knobs[setting.factor] for setting in reversed(estimates) if setting.is_doubtful),
        evident=tuple(knobs[setting.factor] for setting in estimates if setting.is_evident),
        shares=tuple(shares),
        is_clear=is_clear,
    )


def estimated_share(knob: str, ratio: float, interval: Sequence[float], runs: int) -> Share:
    """Return the estimated contribution of a setting; ``runs`` is the number of runs without it."""
    why = "estimated from all runs of the search"
    return Share((knob,), ratio, interval[0], interval[1], runs, shown=False, why=why, is_estimated=True)

"""The proof: fresh paired runs of the original and the candidates, until a confidence sequence decides.

A round runs the original and every candidate still in question once, in random order; each candidate is
paired with the original of its round. A pair never looks at runs of the search. The error is shared by all
candidates that enter the proof together (Bonferroni), at every moment one may look (`confidence_sequence`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, sqrt
from random import Random

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.trial import Outcome, Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof import confidence_sequence

ORIGINAL = Configuration()
_PRINTED_ERROR = 0.05  # of the interval shown to people

Measure = Callable[[Configuration, int], Trial]


@dataclass(frozen=True)
class StoppingRule:
    """When a proof decides and when it gives up."""

    confidence: float = 0.99  # that no candidate of this proof is called faster or slower wrongly
    minimum_effect: float = 0.01  # 0.01: a difference below 1 % is never called
    min_pairs: int = 5
    max_pairs: int = 100
    original_failures: int = 3  # failed runs of the original in the whole proof before it gives up

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1 or not 0 <= self.minimum_effect < 1:
            raise MpiricError(
                "confidence must be between 0.5 and 1, the minimum effect between 0 and 1",
                hint="the usual values are 0.99 and 0.01",
            )
        if not 1 <= self.min_pairs <= self.max_pairs:
            raise MpiricError("a proof needs 1 ≤ least pairs ≤ most pairs")

    def error(self, candidates: int) -> float:
        """Two-sided error of one of ``candidates`` proved at once."""
        return (1 - self.confidence) / max(1, candidates)

    def fewest_pairs(self, candidates: int = 1) -> int:
        """How many pairs a proof takes at the least; with fewer nothing can be called."""
        return max(self.min_pairs, confidence_sequence.fewest_pairs(self.error(candidates)))


@dataclass(frozen=True)
class Proof:
    """One Evidence a candidate, in the order given; ``rejected`` names those that failed in it, and why."""

    evidence: tuple[Evidence, ...]
    rejected: tuple[tuple[Configuration, str], ...] = ()


@dataclass
class _Standing:
    """What one candidate has collected so far."""

    configuration: Configuration
    pairs: list[tuple[float, float]] = field(default_factory=list)
    verdict: Verdict | None = None
    stopped_because: str = ""
    rejected: str = ""

    @property
    def ratios(self) -> list[float]:
        return [original / candidate for original, candidate in self.pairs]


def prove(
    measure: Measure,
    candidates: Sequence[Configuration],
    rule: StoppingRule | None = None,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    recorded: Iterable[Trial] = (),
) -> Proof:
    """Compare each candidate with the original by fresh pairs.

    ``measure(configuration, pair)`` runs one trial (phase PROOF) and records it; ``recorded`` are trials of
    the very same proof (same candidates) from before an interruption: its complete pairs count, begun ones
    are left out. A budget ends the proof between two rounds, never within one.
    Raises ProgramFailedError when the original keeps failing.
    """
    rule, budget = rule or StoppingRule(), budget or Budget()
    standings = [_Standing(candidate) for candidate in dict.fromkeys(candidates)]
    error = rule.error(len(standings))
    failures: list[str] = []
    pair = _take_over(standings, recorded) + 1
    cost_s = 0.0
    for standing in standings:
        _judge(standing, rule, error)
    while active := [standing for standing in standings if not standing.stopped_because]:
        if not budget.fits(cost_s, 1 + len(active)):
            for standing in active:
                standing.stopped_because = _ran_out(standing, rule, len(standings))
            break
        trials = _round(measure, [standing.configuration for standing in active], pair, seed)
        pair += 1
        budget.spend(len(trials))
        cost_s = max(trial.wall_s for trial in trials.values())
        if _enter(active, trials, failures, rule):
            for standing in active:
                _judge(standing, rule, error)
    return Proof(
        tuple(_evidence(standing, rule, tuple(failures)) for standing in standings),
        tuple((standing.configuration, standing.rejected) for standing in standings if standing.rejected),
    )


def _round(
    measure: Measure, candidates: Sequence[Configuration], pair: int, seed: int
) -> dict[Configuration | None, Trial]:
    """The original (key None) and each candidate once, in an order that only seed and pair decide.

    A round whose original fails is thrown away, so it ends there.
    """
    order: list[Configuration | None] = [None, *candidates]
    Random(f"mpiric proof {seed} {pair}").shuffle(order)  # noqa: S311
    trials: dict[Configuration | None, Trial] = {}
    for key in order:
        trials[key] = trial = measure(ORIGINAL if key is None else key, pair)
        if trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if key is None and trial.outcome is not Outcome.OK:
            break
    return trials


def _enter(
    active: Sequence[_Standing],
    trials: dict[Configuration | None, Trial],
    failures: list[str],
    rule: StoppingRule,
) -> bool:
    """Add one round to the standings; False when its pairs had to be thrown away."""
    for standing in active:
        trial = trials.get(standing.configuration)
        if trial is not None and trial.outcome is not Outcome.OK:
            _reject(standing, trial)
    original = trials.get(None)
    if original is None or original.outcome is not Outcome.OK:
        reason = (original.reason or original.outcome.value) if original else "did not run"
        failures.append(f"the original: {reason}")
        if len(failures) >= rule.original_failures:
            raise ProgramFailedError(
                f"the unchanged command failed {len(failures)} times during the proof: {reason}",
                hint="it must run reliably as it stands before anything can be compared with it",
            )
        return False
    for standing in active:
        if not standing.rejected:
            standing.pairs.append((_positive(original), _positive(trials[standing.configuration])))
    return True


def _reject(standing: _Standing, trial: Trial) -> None:
    standing.rejected = trial.reason or trial.outcome.value
    standing.stopped_because = f"rejected: {standing.rejected}"


def _positive(trial: Trial) -> float:
    objective = trial.objective
    if objective is None or not isfinite(objective) or objective <= 0:
        raise MpiricError(
            f"the objective of a run is {objective}, and only positive numbers can be compared as a ratio",
            hint="choose another --objective",
        )
    return objective


def _take_over(standings: Sequence[_Standing], recorded: Iterable[Trial]) -> int:
    """Enter the complete pairs of an interrupted proof; returns the last pair number used, -1 for none."""
    by_pair: dict[int, dict[Configuration, Trial]] = {}
    for trial in recorded:
        by_pair.setdefault(trial.pair, {})[trial.configuration] = trial
    for pair in sorted(number for number in by_pair if number >= 0):
        trials = by_pair[pair]
        original = trials.get(ORIGINAL)
        for standing in standings:
            candidate = trials.get(standing.configuration) if standing.configuration else None
            if candidate is None or standing.rejected or candidate.outcome is Outcome.INTERRUPTED:
                continue
            if candidate.outcome is not Outcome.OK:
                _reject(standing, candidate)
            elif original is not None and original.outcome is Outcome.OK:
                standing.pairs.append((_positive(original), _positive(candidate)))
    return max(by_pair, default=-1)


def _judge(standing: _Standing, rule: StoppingRule, error: float) -> None:
    """Call a verdict, or stop without one when none can be expected any more."""
    count = len(standing.pairs)
    if standing.stopped_because or count < rule.min_pairs:
        return
    low, high = confidence_sequence.median_interval(standing.ratios, error)
    slowest, fastest = 1 - rule.minimum_effect, 1 + rule.minimum_effect
    if low > fastest or high < slowest:
        standing.verdict = Verdict.FASTER if low > fastest else Verdict.SLOWER
        standing.stopped_because = f"decided after {count} pairs"
    elif slowest <= low and high <= fastest:
        standing.stopped_because = f"any difference is below {rule.minimum_effect:.3g} after {count} pairs"
    elif count >= rule.max_pairs:
        standing.stopped_because = f"not decided by the {count} pairs allowed"
    elif _futile(standing.ratios, rule, error):
        standing.stopped_because = f"more pairs would hardly decide it, after {count}"


def _futile(ratios: Sequence[float], rule: StoppingRule, error: float) -> bool:
    """Whether even a lucky rest would not decide by ``max_pairs``. Stops early, never calls a difference."""
    count, rest = len(ratios), rule.max_pairs - len(ratios)
    needed = confidence_sequence.wins_needed(rule.max_pairs, error / 2)
    if needed is None:
        return True
    faster = sum(ratio > 1 + rule.minimum_effect for ratio in ratios)
    slower = sum(ratio < 1 - rule.minimum_effect for ratio in ratios)
    return all(wins + _hopeful(wins, count) * rest < needed for wins in (faster, slower))


def _hopeful(wins: int, count: int, z: float = 2.58) -> float:
    """Upper end of Wilson's interval for the share of wins."""
    share = wins / count
    spread = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (share + z * z / (2 * count) + spread) / (1 + z * z / count)


def _ran_out(standing: _Standing, rule: StoppingRule, candidates: int) -> str:
    fewest = rule.fewest_pairs(candidates)
    note = f"; at least {fewest} are needed" if len(standing.pairs) < fewest else ""
    return f"the budget ended after {len(standing.pairs)} pairs{note}"


def _evidence(standing: _Standing, rule: StoppingRule, failures: tuple[str, ...]) -> Evidence:
    ratios = [] if standing.rejected else standing.ratios
    low, high = confidence_sequence.median_interval(ratios, _PRINTED_ERROR) if ratios else (0.0, inf)
    return Evidence(
        configuration=standing.configuration,
        verdict=standing.verdict or Verdict.NO_DIFFERENCE,
        ratio=confidence_sequence.centre(ratios),
        low=low,
        high=high,
        pairs=tuple(standing.pairs),
        confidence=rule.confidence,
        minimum_effect=rule.minimum_effect,
        stopped_because=standing.stopped_because,
        failures=(*failures, *((standing.rejected,) if standing.rejected else ())),
    )

"""Proof of one answer: fresh runs in rounds, until confidence sequences decide.

A round is a block of a randomised block design: m runs of the original, m of the answer, and one of the
answer without each undecided unit (a setting, or settings that must change together), in uniformly random
order. Runs of the search never count.

Main claim: the labels of the runs are shuffled as well, and the j-th original is paired with the j-th answer.
Given the positions of a pair and everything else, either run is the original with the same probability. For
two identical configurations the signs of log(original ÷ answer) are therefore fair and independent coins,
within a round and between rounds, whatever drifts, as `confidence_sequence` requires.

Contribution of a unit: the rank of the run without it among the runs of the answer in its round
(`rank_betting`). Rounds of larger answers with the unit count as well.

Error: main claim and units have fixed parts of it (`StoppingRule.errors`), and the intervals are valid at any
stopping time, so that they may be evaluated after each round.

m = max(3, units), so that at most a third of the runs are without a unit. After the main claim is decided,
originals are not needed and m = 2 × units, which is a third again. If only the main claim is open, m = 1:
pairs. The proof of a gain that is clear in the search begins with one block of m = 6, which decides if a gap
separates its runs (`separation`).

If the objective is a time, the second run of a pair is stopped at twice the first: the ratio is then at least
2, or at most ½ (see `confidence_sequence.interval_of_bounds`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import count
from math import ceil, inf, isfinite
from random import Random
from statistics import mean

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.run import Outcome, Phase, Plan, Run, Trial
from mpiric.statistics.claims import (
    LIKELY,
    PRESELECTED,
    Contribution,
    Errors,
    PairedClaim,
    StoppingRule,
    typical_ratio,
)
from mpiric.statistics.confidence_sequence import Bounds, block_pairs
from mpiric.statistics.rank_betting import Block
from mpiric.tuning.objective import Budget

ORIGINAL = Configuration()
WITHOUT = -1  # replicate of a run of the answer without a unit
STOP_AT = 2.0  # limit of the second run of a pair, as a multiple of the first
_ERROR_OF_95 = 0.05
# Budget that units leave for the main claim, as multiples of the fewest pairs.
LOOK_LEAVES = 1.2  # factor for rounds that only select the units of a smaller answer
_SLACK = 1.2  # factor while all pairs agree: runs differ in length
_DISSENT = 1.5  # factor if a pair may disagree
_LONG = 5  # number of pairs beyond the fewest after which a smaller answer may be proved instead
ROOM = 1.2  # expected time of the next runs, as a multiple of the mean of the last round
_PAIR, _BEGINS = 2, 0.75 / ROOM  # runs of a pair, and the part of their time that must fit into the budget
FEWEST_REPLICATES = 3  # least number of runs of original and answer in a round with runs without a unit

Unit = tuple[str, ...]  # knobs whose settings change together
Blocks = Mapping[Unit, Sequence[Block]]
_Run = tuple[Configuration, int]  # configuration and replicate


@dataclass(frozen=True)
class Proof:
    """Result of the proof of an answer."""

    evidence: Evidence
    rejected: str = ""  # reason why the answer cannot be used
    run_s: float = 0.0  # expected time of a run of its pairs; 0 without any
    blocks: Blocks = field(default_factory=dict)  # blocks of each unit, including blocks of larger answers
    is_left: bool = False  # ended undecided, because a smaller answer is to be proved instead


@dataclass
class ProofState:
    """Claims of a proof, and the results of its rounds so far. The budget ends a proof between two rounds."""

    answer: Configuration
    units: Sequence[Unit] = ()
    rule: StoppingRule = field(default_factory=StoppingRule)
    errors: Errors | None = None
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    cost_s: float = 0.0  # expected time of a run; 0 if unknown
    limit_s: float | None = None  # time limit of each run
    # Number of the next round of an answer; rounds of an interrupted proof are not repeated.
    round_of: Callable[[Configuration], int] = field(default_factory=lambda: _numbered())
    stops: bool = False  # the objective is a time, so that the second run of a pair may be stopped
    blocks: Blocks = field(default_factory=dict)  # blocks of the units in larger answers
    # After the main claim, the units leave as much of the budget as it took, for a smaller answer.
    has_room: bool = True
    may_be_left: bool = False  # the proof may end undecided for a smaller answer
    compares: bool = True  # False: a few rounds without baseline only select the units of a smaller answer
    slowest: float = 0.0  # largest objective of the baseline so far; limits runs without a unit
    is_clear: bool = False  # the gain is expected to be so clear that a block in random order shows it
    failures: list[str] = field(default_factory=list, init=False)
    rejected: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.errors = self.errors or self.rule.errors(len(self.units))
        self.error = self.errors.main
        self.claim = PairedClaim(self.rule, self.error)
        self.contributions = [
            Contribution(
                unit,
                Configuration(tuple(item for item in self.answer.items if item[0] not in unit)),
                self.rule,
                self.errors.unit,
                [*self.blocks.get(unit, ())],
            )
            for unit in (self.units if len(self.units) > 1 or not self.compares else ())
        ]
        block = block_pairs(self.error)
        if self.is_clear and not self.contributions and block <= self.rule.max_pairs:
            self.claim.block = block

    @property
    def open(self) -> list[Contribution]:
        """Return the undecided units."""
        return [unit for unit in self.contributions if not unit.stopped_because]

    @property
    def is_over(self) -> bool:
        """Return whether no further round is needed.

        Units matter only to a faster answer. If a unit is to be dropped, the proof of the smaller answer also
        decides the units that will probably stay.
        """
        if self.rejected or not self.compares:
            return bool(self.rejected) or not self.open
        if not self.claim.stopped_because:
            return self.is_left
        if self.claim.verdict is not Verdict.FASTER or not self.open:
            return True
        return self._is_for_smaller

    @property
    def is_left(self) -> bool:
        """Return whether the main claim takes so long that a smaller answer should be proved instead."""
        pairs = len(self.claim.pairs)
        is_long = pairs > self.rule.fewest_pairs(self.error) + _LONG
        is_due = self.may_be_left and not self.claim.stopped_because and is_long
        return not self.compares or (is_due and self._is_for_smaller)

    @property
    def _is_for_smaller(self) -> bool:
        """Return whether a unit is to be dropped, and the undecided ones will probably stay."""
        settled = [unit for unit in self.contributions if unit.stopped_because]
        is_smallest = all(unit.is_kept for unit in settled)
        return not is_smallest and all(unit.leans for unit in self.open)

    def next_round(self, fits: Callable[[int], bool]) -> list[_Run] | None:
        """Return the runs of the next round, or a pair for the main claim; None if neither fits."""
        claims = self.compares and not self.claim.stopped_because
        shrinks = not all(unit.would_stay for unit in self.contributions)
        reserves = bool(self.contributions) and (claims or not self.compares or (self.has_room and shrinks))
        replicates = range(self._replicates)
        runs = [(ORIGINAL, number) for number in replicates] if claims else []
        runs += [(self.answer, number) for number in replicates]
        runs += [(unit.without, WITHOUT) for unit in self.open]
        if fits(len(runs) + (self._reserved_runs if reserves else 0)):
            return runs
        if not self.claim.pairs:
            self.claim.block = 0
        pair = [(ORIGINAL, 0), (self.answer, 0)]
        return pair if claims and fits(len(pair)) else None

    @property
    def _reserved_runs(self) -> int:
        """Return the runs that units leave: for the fewest pairs, or as many as the main claim took."""
        pairs = len(self.claim.pairs)
        fewest = self.rule.fewest_pairs(self.error)
        if not self.compares:
            return 2 * ceil(LOOK_LEAVES * fewest)
        if self.claim.stopped_because:
            return 2 * max(pairs, fewest)
        agree = pairs and all(low > 1 + self.rule.minimum_effect for low, _ in self.claim.ratios)
        needed = ceil((_SLACK if agree else _DISSENT) * fewest)
        return 2 * max(0, needed - pairs - self._replicates)

    @property
    def _replicates(self) -> int:
        units = len(self.open)
        if not self.compares:
            return FEWEST_REPLICATES
        if self.claim.stopped_because:
            return 2 * units
        return max(FEWEST_REPLICATES, units) if units else max(1, self.claim.block * self._is_first)

    @property
    def _is_first(self) -> bool:
        return not self.claim.pairs and not self.failures

    def enter(self, trials: Mapping[_Run, Trial]) -> None:
        """Add the trials of a round and evaluate the claims."""
        is_first = self._is_first
        self._enter(trials)
        if is_first and self.claim.block:
            self.claim.end_block()
        runs = len(self.failures) + len(self.claim.pairs)
        if len(self.failures) >= self.rule.original_failures and 2 * len(self.failures) > runs:
            raise ProgramFailedError(
                f"the unchanged command failed {len(self.failures)} times during the proof: "
                f"{self.failures[-1]}",
                hint="a proof needs a command that runs reliably without changes",
            )
        if not self.rejected:
            self.claim.judge()
            for unit in self.open:
                unit.judge()

    def _enter(self, trials: Mapping[_Run, Trial]) -> None:
        values = {run: _bounds(trial) for run, trial in trials.items()}
        for (configuration, replicate), trial in trials.items():
            if values[configuration, replicate] is None:
                reason = trial.reason or trial.outcome.value
                if configuration == self.answer and replicate != WITHOUT:
                    self.rejected = reason
                    return
                if configuration == ORIGINAL:
                    self.failures.append(reason)
        answers = {n: v for (c, n), v in values.items() if c == self.answer and n != WITHOUT and v}
        for number, answer in answers.items():
            if original := values.get((ORIGINAL, number)):
                self.claim.enter(original, answer)
        for unit in self.open:
            if (run := (unit.without, WITHOUT)) in trials:
                if value := values[run]:
                    unit.enter(value, [*answers.values()])
                else:
                    unit.fail(trials[run].reason or trials[run].outcome.value)

    def run_out(self) -> None:
        """Close all open claims because the budget has ended."""
        if not self.claim.stopped_because:
            self.claim.run_out()
        for unit in self.open:
            unit.settle("the budget ended: ", threshold=LIKELY if self.compares else PRESELECTED)

    def evidence(self) -> Evidence:
        """Return the result so far."""
        stopped_because = self.claim.stopped_because
        if self.rejected:
            stopped_because = f"rejected: {self.rejected}"
        elif self.is_left:
            stopped_because = f"not decided by {len(self.claim.pairs)} pairs, and left for a smaller answer"
        claim = PairedClaim(self.rule, self.error) if self.rejected else self.claim
        low, high = claim.interval(self.error)
        rejected = (self.rejected,) if self.rejected else ()
        return Evidence(
            configuration=self.answer,
            verdict=claim.verdict or Verdict.NO_DIFFERENCE,
            ratio=typical_ratio(claim.pairs),
            low=low,
            high=high,
            pairs=tuple((original[0], answer[0]) for original, answer in self.claim.pairs),
            confidence=self.rule.confidence,
            minimum_effect=self.rule.minimum_effect,
            stopped_because=stopped_because,
            failures=(*(f"the original: {reason}" for reason in self.failures), *rejected),
            ci95=claim.interval(max(_ERROR_OF_95, self.error)),
            shares=tuple(
                unit.share() for unit in self.contributions if claim.verdict is Verdict.FASTER or self.is_left
            ),
            stopped=tuple(n for n, (o, a) in enumerate(self.claim.pairs) if inf in (*o, *a)),
            missing_pairs=claim.missing_pairs,
        )


def _numbered() -> Callable[[Configuration], int]:
    numbers = count()
    return lambda _: next(numbers)


def prove(state: ProofState) -> Plan[Proof]:
    """Compare an answer with the baseline, and with the answer without each unit.

    The order of a round's runs follows from seed and round number. A round ends if the answer fails, which is
    then rejected. Raises ProgramFailedError if the baseline keeps failing.
    """
    answer, budget, cost_s, run_s = state.answer, state.budget, state.cost_s, 0.0

    def fits(runs: int) -> bool:
        # A pair may begin late: its second run may end after the budget.
        return budget.fits(_BEGINS * cost_s if runs == _PAIR else cost_s, runs)

    while not state.is_over:
        planned = state.next_round(fits)
        if planned is None:
            state.run_out()
            break
        begun_s, number = budget.elapsed_s, state.round_of(answer)
        Random(f"mpiric proof {state.seed} {number}").shuffle(planned)  # noqa: S311
        trials: dict[_Run, Trial] = {}
        for configuration, replicate in planned:
            stop_at = _stop_at(configuration, replicate, trials, state.slowest) if state.stops else None
            trial = yield Run(configuration, Phase.PROOF, number, state.limit_s, replicate, stop_at)
            budget.spend(trial.runs)
            trials[configuration, replicate] = trial
            if trial.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            if configuration == answer and replicate != WITHOUT and _bounds(trial) is None:
                break
        # Mean overhead of a run: its directory and its files.
        round_s = budget.elapsed_s - begun_s
        around_s = max(0.0, round_s - sum(trial.wall_s for trial in trials.values())) / max(1, len(trials))
        cost_s = ROOM * mean(trial.wall_s for trial in trials.values()) + around_s
        if (ORIGINAL, 0) in trials:
            pairs = [trial.wall_s for (_, replicate), trial in trials.items() if replicate != WITHOUT]
            run_s = ROOM * mean(pairs) + around_s
        state.enter(trials)
    blocks = {unit.knobs: tuple(unit.blocks) for unit in state.contributions}
    return Proof(state.evidence(), state.rejected, run_s or cost_s, blocks, state.is_left)


def _stop_at(
    configuration: Configuration, replicate: int, trials: Mapping[_Run, Trial], slowest: float
) -> float | None:
    """Return the objective from which a run is known to be slower, so that it may be stopped."""
    if replicate == WITHOUT:
        # A run that is slower than the original decides; its end would cost the time of pairs.
        durations = [
            slowest,
            *(trial.objective or 0.0 for (other, _), trial in trials.items() if other == ORIGINAL),
        ]
        return STOP_AT * max(durations) or inf
    first = [trial for (other, n), trial in trials.items() if n == replicate and other != configuration]
    return STOP_AT * first[0].objective if first and first[0].objective is not None else None


def _bounds(trial: Trial) -> Bounds | None:
    """Return the bounds of a run's objective; None for a failed run."""
    if trial.outcome is not Outcome.OK:
        return None if trial.at_least is None else (trial.at_least, inf)
    objective = trial.objective
    if objective is None or not isfinite(objective) or objective <= 0:
        raise MpiricError(
            f"the objective of a run is {objective}, but ratios need a positive number",
            hint="choose another --objective",
        )
    return objective, objective

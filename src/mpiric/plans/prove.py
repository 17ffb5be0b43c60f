"""The proof of one answer: fresh runs in rounds, until confidence sequences decide.

A round is a block of an experiment in random blocks: m runs of the original, m of the answer, and one of
the answer without each unit (a setting, or settings that must move together) about which nothing is known
yet, in uniformly random order. Runs of the search never count.

The main claim. The labels of the runs are shuffled as well, and the j-th original makes a pair with the
j-th answer. Given where the two of a pair stand and everything else, either may be the original with the
same chance. For two identical configurations the signs of log(original ÷ answer) are therefore fair and
independent coins, within a round as between rounds, whatever drifts: what `confidence_sequence` needs.

What a unit contributes: the rank of the run without it among the answer's of its round (`rank_betting`).
Rounds of larger answers that held the unit count as well.

One budget of error. Main claim and units have fixed parts of it (`StoppingRule.errors`), and what is looked
at after each round is valid at every look.

m = max(3, units), so that runs without a unit are a third at most. When the main claim is decided,
originals are no longer needed and m = 2 × units, a third again. With nothing but the main claim open, m =
1: pairs. A gain that the search has seen clearly begins with one block of m = 6, which decides if it is
separated (`separation`).

Where the objective is a time, the second run of a pair is stopped at twice the first: then the ratio is
known to be 2 or more, or ½ or less (see `confidence_sequence.interval_of_known`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import ceil, inf, isfinite
from random import Random
from statistics import mean

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof import confidence_sequence
from mpiric.tuning.proof.contribution import LIKELY, PRESELECTED, Contribution
from mpiric.tuning.proof.paired_claim import Bounds, PairedClaim, as_ratios
from mpiric.tuning.proof.rank_betting import Block
from mpiric.tuning.proof.separation import block_pairs
from mpiric.tuning.proof.stopping_rule import Errors, StoppingRule

ORIGINAL = Configuration()
WITHOUT = -1  # replicate of a run of the answer without a unit
STOP_AT = 2.0  # the second run of a pair may take so many times as long as the first
_ERROR_OF_95 = 0.05
LOOK_LEAVES = 1.2  # times the fewest pairs, where runs only tell which units the smaller answer has
_SLACK = 1.2  # the same, while all pairs agree: runs differ in length
_DISSENT = 1.5  # the same, where one of them may go the other way
_LONG = 5  # pairs beyond the fewest
ROOM = 1.2  # times the mean run of a round, for the next one
_PAIR, _BEGINS = 2, 0.75 / ROOM  # runs of a pair, and the share of their time in which it may begin
FEWEST_REPLICATES = 3  # of original and answer, in a round that has runs without a unit

Unit = tuple[str, ...]  # knobs that are in the answer together or not at all
Blocks = Mapping[Unit, Sequence[Block]]
_Run = tuple[Configuration, int]  # and its replicate


@dataclass(frozen=True)
class Proof:
    """What the pairs prove of an answer; ``rejected`` says why it cannot be used, "" when it can."""

    evidence: Evidence
    rejected: str = ""
    run_s: float = 0.0  # of a run of its last pairs, with some room; 0 when it made none
    blocks: Blocks = field(default_factory=dict)  # of each unit, those of larger answers among them
    is_left: bool = False  # undecided, as a smaller answer is the better one to prove


@dataclass
class Standing:
    """A proof: what it is asked to show, and all that its rounds have shown so far.

    ``round_of`` numbers the rounds of an answer. A budget ends the proof between two rounds. ``has_room``:
    once the answer is proved, its units leave as much of the budget as that took, for the proof of a smaller
    one, should one follow. ``compares``: whether the answer is compared with the baseline at all, or a few
    rounds only tell which units the smaller answer has.
    """

    answer: Configuration
    units: Sequence[Unit] = ()
    rule: StoppingRule = field(default_factory=StoppingRule)
    errors: Errors | None = None
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    cost_s: float = 0.0  # of a run, as far as known
    limit_s: float | None = None  # of each run
    round_of: Callable[[Configuration], int] = field(default_factory=lambda: _numbered())
    stops: bool = False  # whether the objective is a time: the second run of a pair may be stopped
    blocks: Blocks = field(default_factory=dict)  # of the units in larger answers
    has_room: bool = True
    may_be_left: bool = False  # whether the smaller answer may begin before this one is decided
    compares: bool = True
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
                _without(self.answer, unit),
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
        """Units of which nothing is decided yet."""
        return [unit for unit in self.contributions if not unit.stopped_because]

    @property
    def is_over(self) -> bool:
        """Whether no further round is of use.

        What units are worth matters only to a faster answer. Where one of them is to be dropped, the proof of
        the smaller answer serves those that will hardly be dropped as well.
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
        """Whether pairs go on for long that a smaller answer would make better use of."""
        pairs = len(self.claim.pairs)
        is_long = pairs > self.rule.fewest_pairs(self.error) + _LONG
        is_due = self.may_be_left and not self.claim.stopped_because and is_long
        return not self.compares or (is_due and self._is_for_smaller)

    @property
    def _is_for_smaller(self) -> bool:
        """Whether something is to be dropped, and what is open will hardly be."""
        settled = [unit for unit in self.contributions if unit.stopped_because]
        is_smallest = all(unit.is_kept for unit in settled)
        return not is_smallest and all(unit.leans for unit in self.open)

    def next_round(self, fits: Callable[[int], bool]) -> list[_Run] | None:
        """Runs of the next round: all, else what the main claim needs; None where nothing fits."""
        whole, pair = self._whole_round(), [(ORIGINAL, 0), (self.answer, 0)]
        claims = self.compares and not self.claim.stopped_because
        shrinks = not all(unit.would_stay for unit in self.contributions)
        keeps = bool(self.contributions) and (claims or not self.compares or (self.has_room and shrinks))
        if fits(len(whole) + (self._kept_runs if keeps else 0)):
            return whole
        if not self.claim.pairs:
            self.claim.block = 0
        return pair if claims and fits(len(pair)) else None

    def _whole_round(self) -> list[_Run]:
        units = [(unit.without, WITHOUT) for unit in self.open]
        replicates = range(self._replicates)
        is_open = self.compares and not self.claim.stopped_because
        originals = [(ORIGINAL, number) for number in replicates] if is_open else []
        return [*originals, *((self.answer, number) for number in replicates), *units]

    @property
    def _kept_runs(self) -> int:
        """Runs that units have to leave: of the fewest pairs, or of as many as the main claim took."""
        pairs = len(self.claim.pairs)
        fewest = self.rule.fewest_pairs(self.error)
        if not self.compares:
            return 2 * ceil(LOOK_LEAVES * fewest)
        if self.claim.stopped_because:
            return 2 * max(pairs, fewest)
        agree = pairs and all(low > 1 + self.rule.minimum_effect for low, _ in self.claim.ratios)
        wanted = ceil((_SLACK if agree else _DISSENT) * fewest)
        return 2 * max(0, wanted - pairs - self._replicates)

    @property
    def _replicates(self) -> int:
        units = len(self.open)
        if not self.compares:
            return FEWEST_REPLICATES
        if self.claim.stopped_because:
            return 2 * units
        is_first = not self.claim.pairs and not self.failures
        return max(FEWEST_REPLICATES, units) if units else max(1, self.claim.block * is_first)

    def enter(self, trials: Mapping[_Run, Trial]) -> None:
        """Add a round, and see what it decides."""
        is_first = not self.claim.pairs and not self.failures
        self._enter(trials)
        if is_first and self.claim.block:
            self.claim.end_block()
        runs = len(self.failures) + len(self.claim.pairs)
        if len(self.failures) >= self.rule.original_failures and 2 * len(self.failures) > runs:
            raise ProgramFailedError(
                f"the unchanged command failed {len(self.failures)} times during the proof: "
                f"{self.failures[-1]}",
                hint="it must run reliably as it stands before anything can be compared with it",
            )
        self._judge()

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

    def _judge(self) -> None:
        if not self.rejected:
            self.claim.judge()
            for unit in self.open:
                unit.judge()

    def run_out(self) -> None:
        """Note of what is open that the budget has ended."""
        if not self.claim.stopped_because:
            self.claim.run_out()
        for unit in self.open:
            unit.settle("the budget ended: ", least=LIKELY if self.compares else PRESELECTED)

    @property
    def _stopped_because(self) -> str:
        left = f"not decided by {len(self.claim.pairs)} pairs, and left for a smaller answer"
        return left if self.is_left else self.claim.stopped_because

    def evidence(self) -> Evidence:
        """All of it for whoever asks."""
        claim = PairedClaim(self.rule, self.error) if self.rejected else self.claim
        low, high = claim.interval(self.error)
        rejected = (self.rejected,) if self.rejected else ()
        return Evidence(
            configuration=self.answer,
            verdict=claim.verdict or Verdict.NO_DIFFERENCE,
            ratio=confidence_sequence.centre(as_ratios(claim.ratios)),
            low=low,
            high=high,
            pairs=tuple((original[0], answer[0]) for original, answer in self.claim.pairs),
            confidence=self.rule.confidence,
            minimum_effect=self.rule.minimum_effect,
            stopped_because=f"rejected: {self.rejected}" if self.rejected else self._stopped_because,
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


def prove(standing: Standing) -> Plan[Proof]:
    """Compare an answer with the baseline, and with itself without each of several units.

    The order of a round's runs follows from seed and number alone; it ends where the answer fails, which is
    then rejected. Raises ProgramFailedError when the baseline keeps failing.
    """
    answer, budget, cost_s, run_s = standing.answer, standing.budget, standing.cost_s, 0.0
    while not standing.is_over:
        planned = standing.next_round(partial(_fits, budget, cost_s))
        if planned is None:
            standing.run_out()
            break
        begun_s, number = budget.elapsed_s, standing.round_of(answer)
        Random(f"mpiric proof {standing.seed} {number}").shuffle(planned)  # noqa: S311
        trials: dict[_Run, Trial] = {}
        for configuration, replicate in planned:
            stop_at = _stop_at(configuration, replicate, trials, standing.slowest) if standing.stops else None
            trial = yield Run(configuration, Phase.PROOF, number, standing.limit_s, replicate, stop_at)
            budget.spend(trial.runs)
            trials[configuration, replicate] = trial
            if trial.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            if configuration == answer and replicate != WITHOUT and _bounds(trial) is None:
                break
        around_s = _around_s(budget.elapsed_s - begun_s, trials.values())
        cost_s = ROOM * mean(trial.wall_s for trial in trials.values()) + around_s
        if (ORIGINAL, 0) in trials:
            pairs = [trial.wall_s for (_, replicate), trial in trials.items() if replicate != WITHOUT]
            run_s = ROOM * mean(pairs) + around_s
        standing.enter(trials)
    of_units = {unit.knobs: tuple(unit.blocks) for unit in standing.contributions}
    return Proof(standing.evidence(), standing.rejected, run_s or cost_s, of_units, standing.is_left)


def _fits(budget: Budget, cost_s: float, runs: int) -> bool:
    """Return whether a round may begin; the second run of a pair alone may end after the budget."""
    return budget.fits(_BEGINS * cost_s if runs == _PAIR else cost_s, runs)


def _around_s(round_s: float, trials: Collection[Trial]) -> float:
    """Seconds around a run of a round, on average: until its files are safe, and to read them."""
    return max(0.0, round_s - sum(trial.wall_s for trial in trials)) / max(1, len(trials))


def _stop_at(
    configuration: Configuration, replicate: int, trials: Mapping[_Run, Trial], slowest: float
) -> float | None:
    """Objective from which on a run may be stopped, as it is known to be slower then; None where none is."""
    if replicate == WITHOUT:
        # Being slower than the original is an answer: waiting for its end would take the time of pairs.
        durations = [
            slowest,
            *(trial.objective or 0.0 for (other, _), trial in trials.items() if other == ORIGINAL),
        ]
        return STOP_AT * max(durations) or inf
    first = [trial for (other, n), trial in trials.items() if n == replicate and other != configuration]
    return STOP_AT * first[0].objective if first and first[0].objective is not None else None


def _without(answer: Configuration, unit: Unit) -> Configuration:
    return Configuration(tuple(item for item in answer.items if item[0] not in unit))


def _bounds(trial: Trial) -> Bounds | None:
    """What is known of a run's objective; None of one that failed."""
    if trial.outcome is not Outcome.OK:
        return None if trial.at_least is None else (trial.at_least, inf)
    objective = trial.objective
    if objective is None or not isfinite(objective) or objective <= 0:
        raise MpiricError(
            f"the objective of a run is {objective}, and only positive numbers can be compared as a ratio",
            hint="choose another --objective",
        )
    return objective, objective

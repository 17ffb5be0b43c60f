"""Smallest proved answer: a proof of an answer, then of the answer without units that do not contribute.

A unit is a setting of the answer, or several settings that must change together. `SmallestAnswer.prove` works
as follows:

1. Preselection: if the budget is too small for two proofs, units are removed that seem useless according to
   the search, or according to a few rounds without baseline. Nothing is claimed here, so that it does not use
   any of the error.
2. The answer is proved together with the contribution of each of its units (`prove`).
3. Units that are not shown to contribute are removed, all at once, and the smaller answer is proved in fresh
   rounds. This repeats until all units contribute.
4. Two settings can be alternatives (two cures of one cause): each seems superfluous while the other is set.
   If several units were removed and the smaller answer is slower than the larger one was shown to be, the
   most useful of them is brought back, once.
5. If the main claim takes long and a unit is to be removed, the proof ends undecided, without a claim, and
   the smaller answer is proved instead.

If a smaller answer is not shown to be faster, the last proved answer is the result, with its units marked as
not shown. The bets on a unit continue from answer to answer: its blocks in larger answers count as well, and
the rejected hypothesis is that it has no effect in any of them.

Error: it is not divided between the proofs. Among the answers proved one after the other, consider the
first that is in truth not faster. Either it is not called faster, and the sequence ends; or the claim is
wrong, which has the probability of the main claim's error, once. For a unit, consider the first answer in
which it in truth has no effect. Either its contribution is not shown, and it is removed for good; or the
claim is wrong, which has the probability of the unit's error, once. All earlier claims were true. (Fixed
sequences of tests: Maurer, Hothorn, Lehmacher 1995; Bretz et al., Stat. Med. 28 (2009) 586.) Steps 4 and 5
allow wrong claims in addition to these. The proofs after them have the tenth of the error that is reserved
for this (`StoppingRule.errors`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.model.run import Plan
from mpiric.plans.prove import FEWEST_REPLICATES, LOOK_LEAVES, ROOM, STOP_AT, Proof, ProofState, Unit, prove
from mpiric.statistics.claims import Errors, StoppingRule
from mpiric.statistics.rank_betting import Block
from mpiric.tuning.objective import Budget

# Rounds of preselection; in one round, a unit without effect is the slowest of five in 20 %.
_PRESELECTING = 2


@dataclass
class SmallestAnswer:
    """Proves an answer, then smaller ones, until all units are shown to contribute."""

    first: Configuration
    units_of: Callable[[Configuration], tuple[Unit, ...]]
    rule: StoppingRule
    budget: Budget
    round_of: Callable[[Configuration], int]  # number of the next round of an answer
    say: Callable[[str], None]
    seed: int = 0
    stops: bool = False  # the second run of a pair may be stopped
    run_s: float = 0.0  # expected time of a run of the original; 0 if unknown
    answer_s: float | None = None  # expected time of a run of the answer; None: as the original
    # Knobs whose contribution is doubtful according to the search, smallest first.
    doubtful: Sequence[str] = ()
    evident: Sequence[str] = ()  # knobs whose contribution is certain according to the search
    is_rejected: Callable[[Configuration], bool] = lambda _: False  # whether a configuration failed before
    slowest: float = 0.0  # largest objective of the original so far; 0: unknown
    limit_s: float | None = None  # time limit of each run
    is_clear: bool = False  # the runs of the search show the gain clearly
    # Answers that failed in their proof, and the reason.
    rejected: list[tuple[Configuration, str]] = field(default_factory=list, init=False)
    _units: int = field(default=0, init=False)  # number of units of the first answer that is proved
    _blocks: dict[Unit, Sequence[Block]] = field(default_factory=dict, init=False)
    _first_proof: ProofState | None = field(default=None, init=False)
    _proved: Evidence | None = field(default=None, init=False)
    _was_undecided: bool = field(default=False, init=False)  # a proof ended undecided (step 5)
    _brought_back: bool = field(default=False, init=False)  # a removed unit was brought back (step 4)

    def prove(self) -> Plan[Proof]:
        """Return the proof of the smallest answer that was proved, or of the first one if none was.

        After an interruption, `proved` is valid.
        """
        answer = yield from self._preselect()
        self._units = len(self.units_of(answer))
        last = smallest = yield from self._prove(answer)  # `smallest` is decided, `last` may be undecided
        while last.is_left or last.evidence.verdict is Verdict.FASTER:
            self._was_undecided |= last.is_left
            if not last.is_left:
                self._proved = last.evidence
            missing = _superfluous(last, len(last.evidence.shares))
            answer = _without(last.evidence.configuration, [share.knobs for share in missing])
            if not missing or not self._can_be_proved(answer, last):
                break
            names = _names(share.knobs for share in missing)
            self.say(f"{names} not shown to contribute: proving it without")
            smaller = yield from self._prove(answer)
            if not (smaller.is_left or _is_as_fast(smaller, smallest)):
                smaller = (yield from self._bring_back(last, missing)) or smaller
            if not (smaller.is_left or _is_as_fast(smaller, smallest)):
                break
            last = smaller
            if not smaller.is_left:
                smallest = smaller
        return smallest

    @property
    def proved(self) -> Evidence | None:
        """Return the evidence of the smallest answer that is proved faster so far."""
        first = self._first_proof
        if self._proved is None and first is not None and first.claim.verdict is Verdict.FASTER:
            return first.evidence()
        return self._proved

    def dropped(self, proof: Proof) -> tuple[str, ...]:
        """Return the knobs of the first answer that a proved one lacks."""
        settings = proof.evidence.configuration.as_dict()
        return tuple(knob for knob, _ in self.first.items if knob not in settings)

    def _preselect(self) -> Plan[Configuration]:
        """Select the units to prove if the budget is too small for the answer and a smaller one after it."""
        answer = self.first
        units = self.units_of(answer)
        if not self._has_room(len(units)):
            doubtful = [unit for unit in units if set(unit) <= set(self.doubtful)]
            doubtful.sort(key=lambda unit: max(map(self.doubtful.index, unit)))
            answer = self._reduce(answer, doubtful[: len(units) - 1], "seen")
            units = self.units_of(answer)
        unsure = [unit for unit in units if not set(unit) <= set(self.evident)]
        if self._has_room(len(units)) or not self._can_look(len(units), len(unsure)):
            return answer
        self.say("few runs are left: looking first at what settings are worth")
        look = ProofState(
            answer,
            unsure,
            self.rule,
            self._errors(len(units)),
            seed=self.seed,
            budget=self.budget,
            limit_s=self.limit_s,
            round_of=self.round_of,
            compares=False,
            stops=self.stops,
            slowest=self.slowest,
        )
        proof = yield from prove(look)
        if proof.rejected:
            return answer
        self._blocks.update(proof.blocks)
        missing = [share.knobs for share in _superfluous(proof, len(units))]
        return self._reduce(answer, missing, "shown")

    def _reduce(self, answer: Configuration, missing: Sequence[Unit], how: str) -> Configuration:
        """Return the answer without some units, or unchanged if the smaller one failed before."""
        smaller = _without(answer, missing)
        if not missing or self.is_rejected(smaller):
            return answer
        self.say(f"{_names(missing)} not {how} to contribute: proving it without")
        return smaller

    def _bring_back(self, larger: Proof, missing: list[Share]) -> Plan[Proof | None]:
        """Prove the answer with the most useful of several removed units, once; None if not possible."""
        best = max(missing, key=lambda share: share.ratio)
        removed = [share.knobs for share in missing if share is not best]
        answer = _without(larger.evidence.configuration, removed)
        is_spent = self._brought_back or self._was_undecided
        if not removed or is_spent or not self._can_be_proved(answer, larger):
            return None
        self._brought_back, self._blocks = True, {}
        self.say(f"something of that is needed: proving it with {_names([best.knobs])}")
        return (yield from self._prove(answer))

    def _prove(self, answer: Configuration) -> Plan[Proof]:
        """Prove an answer with the contribution of each unit; add it to `rejected` if it fails."""
        units = self.units_of(answer)
        state = ProofState(
            answer,
            units,
            self.rule,
            self._errors(self._units),
            seed=self.seed,
            budget=self.budget,
            cost_s=ROOM * self._pair_s() / 2,
            round_of=self.round_of,
            stops=self.stops,
            limit_s=self.limit_s,
            blocks=self._blocks,
            has_room=self._has_room(len(units)),
            may_be_left=not (self._was_undecided or self._brought_back),
            slowest=self.slowest,
            is_clear=self.is_clear,
        )
        self._first_proof = self._first_proof or state
        proof = yield from prove(state)
        self._blocks.update(proof.blocks)
        if proof.rejected:
            self.rejected.append((answer, proof.rejected))
        return proof

    def _errors(self, units: int) -> Errors:
        """Return the errors of the next proof: the reserved tenth after an exception to the sequence."""
        errors = self.rule.errors(units, comeback=self._brought_back)
        if self._was_undecided:
            return Errors(self.rule.errors(units, comeback=True).main, errors.unit)
        return errors

    def _can_be_proved(self, answer: Configuration, last: Proof) -> bool:
        """Return whether an answer has not failed, and its fewest pairs fit into the budget."""
        pairs = self.rule.clear_pairs(self._errors(self._units).main)
        return not self.is_rejected(answer) and self.budget.fits(last.run_s, 2 * pairs)

    def _has_room(self, units: int) -> bool:
        """Return whether an answer with this number of units, then a smaller one, fit into the budget."""
        pairs = self.rule.fewest_pairs(self.rule.errors(units).main)
        replicates = max(FEWEST_REPLICATES, units)
        rounds = -(-pairs // replicates)
        return units < 2 or self._fits(rounds * replicates + pairs, rounds * units, units)

    def _can_look(self, units: int, unsure: int) -> bool:
        """Return whether two rounds of the unsure units fit before the pairs of a proof."""
        pairs = self.rule.fewest_pairs(self.rule.errors(units).main)
        single_runs = _PRESELECTING * (FEWEST_REPLICATES + unsure)
        return bool(unsure) and self._fits(LOOK_LEAVES * pairs, single_runs, unsure, room=1.0)

    def _fits(self, pairs: float, single_runs: int, units: int, room: float = ROOM) -> bool:
        """Return whether pairs fit, and single runs of the answer with all units or without one."""
        runs = int(2 * pairs) + single_runs
        # Upper bound: without an effective unit, a run is as slow as the original.
        slow = single_runs // max(1, units)
        seconds = pairs * self._pair_s() + (single_runs - slow) * self._answer_s() + slow * self.run_s
        return self.budget.fits(room * seconds / runs, runs)

    def _pair_s(self) -> float:
        """Return the mean time of a pair; its second run, in turn the original's, may be stopped."""
        answer_s = self._answer_s()
        stopped_s = min(self.run_s, STOP_AT * answer_s) if self.stops else self.run_s
        return answer_s + (self.run_s + stopped_s) / 2

    def _answer_s(self) -> float:
        return self.run_s if self.answer_s is None else min(self.run_s, self.answer_s)


def _superfluous(proof: Proof, units: int) -> list[Share]:
    """Return the units that are not shown to contribute; of all ``units`` the most useful one stays."""
    shares = proof.evidence.shares
    missing = [s for s in shares if s.why and not (s.shown or s.is_needed or s.is_likely)]
    if len(missing) == units and missing:
        missing.remove(max(missing, key=lambda share: share.ratio))
    return missing


def _is_as_fast(smaller: Proof, larger: Proof) -> bool:
    """Return whether the smaller answer is also proved faster, and as fast as the larger one."""
    new, old = smaller.evidence, larger.evidence
    return new.verdict is Verdict.FASTER and (new.ratio >= old.low or new.high >= old.ratio)


def _without(answer: Configuration, units: Iterable[Unit]) -> Configuration:
    knobs = {knob for unit in units for knob in unit}
    return Configuration(tuple(item for item in answer.items if item[0] not in knobs))


def _names(units: Iterable[Unit]) -> str:
    return ", ".join(knob for unit in units for knob in unit)

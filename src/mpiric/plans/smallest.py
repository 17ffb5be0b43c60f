"""The smallest answer that holds: what is not shown to contribute is dropped, and the rest proved anew.

An answer is proved together with what each of its units contributes. Units that are not shown to contribute
are dropped, all at once, and what is left has to stand the same proof in fresh rounds.

Why the error is not shared between these proofs. Of the answers proved one after the other, take the first
that is in truth not faster. Either it is not called faster, and the sequence ends; or that is a wrong
claim, and its chance is the main claim's error, once. Of a unit, take the first answer in which it in truth
contributes nothing. Either that is not shown, and it is dropped for good; or that is a wrong claim, and its
chance is the unit's error, once. (Fixed sequences of tests: Maurer, Hothorn, Lehmacher 1995; Bretz et al.,
Stat. Med. 28 (2009) 586.) What came before made true claims. A smaller answer that is not shown to be
faster leaves the last one that was, with its units marked as not shown.

What a unit contributes is bet on from answer to answer: its blocks in larger answers go on counting, and what
is ruled out is that it does nothing in any of them.

An answer of which something is to be dropped, and whose pairs go on for long, is left before it is decided:
nothing is claimed of it. What follows may then be wrong besides whatever might have been claimed of it until
then, so that the main claims from there on have the tenth of the error that is kept (below).

Settings that can stand in for one another (two cures of one cause) both look superfluous while the other is
there. If several units were dropped and what is left is slower than the whole was shown to be, the one of
them that looked most useful comes back, once, and that proof and what follows have the tenth of the error
that was kept for it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.model.run import Plan
from mpiric.plans.prove import (
    FEWEST_REPLICATES,
    LOOK_LEAVES,
    ROOM,
    STOP_AT,
    Proof,
    Standing,
    Unit,
    prove,
)
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.rank_betting import Block
from mpiric.tuning.proof.stopping_rule import Errors, StoppingRule

_PRESELECTING = 2  # rounds: in one alone, what does nothing is the slowest of five one time in five


@dataclass(frozen=True)
class ProofPlan:
    """What the proofs of an answer and of smaller ones have in common."""

    units_of: Callable[[Configuration], tuple[Unit, ...]]
    rule: StoppingRule
    budget: Budget
    round_of: Callable[[Configuration], int]  # number of the next round of an answer
    say: Callable[[str], None]
    seed: int = 0
    stops: bool = False  # whether the second run of a pair may be stopped
    run_s: float = 0.0  # of a run of the original, as far as known
    answer_s: float | None = None  # the same of the answer; None: as long as that
    doubtful: Sequence[str] = ()  # knobs whose settings the search does not see contribute, the worst first
    evident: Sequence[str] = ()  # those whose settings it sees contribute beyond doubt
    is_rejected: Callable[[Configuration], bool] = lambda _: False  # what failed before is no smaller answer
    slowest: float = 0.0  # largest objective of the original so far; 0: unknown
    limit_s: float | None = None  # of each run
    is_clear: bool = False  # the runs of the search show the gain clearly


@dataclass(frozen=True)
class Smallest:
    """The smallest answer that was proved, or the first one where none was; and what was found on the way."""

    proof: Proof
    rejected: tuple[tuple[Configuration, str], ...] = ()  # of the answers proved
    dropped: tuple[str, ...] = ()  # knobs


@dataclass
class SmallestAnswer:
    """Proves an answer, then without what is not shown to contribute, until all of it is."""

    plan: ProofPlan
    first: Configuration
    came_back: bool = False
    units: int = 0  # of the first answer proved
    left: bool = False  # an answer was left before it was decided
    rejected: list[tuple[Configuration, str]] = field(default_factory=list)
    blocks: dict[Unit, Sequence[Block]] = field(default_factory=dict)
    _standing_first: Standing | None = None
    _proved: Evidence | None = None

    @property
    def proved(self) -> Evidence | None:
        """The smallest answer that is proved faster by now."""
        first = self._standing_first
        if self._proved is None and first is not None and first.claim.verdict is Verdict.FASTER:
            return first.evidence()
        return self._proved

    def prove(self) -> Plan[Smallest]:
        """Make the runs; what is ``proved`` until an interruption holds."""
        answer = yield from self._preselected()
        self.units = len(self.plan.units_of(answer))
        self._standing_first = self._standing(answer)
        last = stands = yield from self._prove(self._standing_first)
        while last.is_left or last.evidence.verdict is Verdict.FASTER:
            self.left |= last.is_left
            if not last.is_left:
                self._proved = last.evidence
            missing = _superfluous(last, len(last.evidence.shares))
            answer = _less(last.evidence.configuration, [share.knobs for share in missing])
            if not missing or not self._can_be_proved(answer, last):
                break
            names = _names(share.knobs for share in missing)
            self.plan.say(f"{names} not shown to contribute: proving it without")
            smaller = yield from self._prove(self._standing(answer))
            if not (smaller.is_left or _keeps_up(smaller, stands)):
                smaller = (yield from self._bring_back(last, missing)) or smaller
            if not (smaller.is_left or _keeps_up(smaller, stands)):
                break
            last = smaller
            stands = stands if smaller.is_left else smaller
        kept = stands.evidence.configuration.as_dict()
        return Smallest(stands, tuple(self.rejected), tuple(k for k, _ in self.first.items if k not in kept))

    def _preselected(self) -> Plan[Configuration]:
        """What to prove where the runs are too few for the whole answer and a smaller one after it.

        Nothing is claimed before that, so that it takes nothing of the error.
        """
        plan, answer = self.plan, self._within_room()
        units = plan.units_of(answer)
        unsure = [unit for unit in units if not set(unit) <= set(plan.evident)]
        if _has_room(plan, len(units)) or not _can_look(plan, len(units), len(unsure)):
            return answer
        plan.say("few runs are left: looking first at what settings are worth")
        proof = yield from prove(
            Standing(
                answer,
                unsure,
                plan.rule,
                self._errors(len(units)),
                seed=plan.seed,
                budget=plan.budget,
                limit_s=plan.limit_s,
                round_of=plan.round_of,
                compares=False,
                stops=plan.stops,
                slowest=plan.slowest,
            )
        )
        if proof.rejected:
            return answer
        self.blocks.update(proof.blocks)
        missing = [share.knobs for share in _superfluous(proof, len(units))]
        return self._smaller(answer, missing, "shown")

    def _within_room(self) -> Configuration:
        """Return the answer; if the budget is too small for it, without settings of doubtful use."""
        plan, units = self.plan, self.plan.units_of(self.first)
        if _has_room(plan, len(units)):
            return self.first
        doubtful = [unit for unit in units if set(unit) <= set(plan.doubtful)]
        doubtful.sort(key=lambda unit: max(map(plan.doubtful.index, unit)))
        return self._smaller(self.first, doubtful[: len(units) - 1], "seen")

    def _smaller(self, answer: Configuration, missing: Sequence[Unit], how: str) -> Configuration:
        """The answer without some units; as it is where what is left failed before."""
        smaller = _less(answer, missing)
        if not missing or self.plan.is_rejected(smaller):
            return answer
        self.plan.say(f"{_names(missing)} not {how} to contribute: proving it without")
        return smaller

    def _bring_back(self, larger: Proof, missing: list[Share]) -> Plan[Proof | None]:
        """Proof with the most useful of several that were dropped, once; None where that cannot be."""
        best = max(missing, key=lambda share: share.ratio)
        answer = _less(larger.evidence.configuration, [share.knobs for share in missing if share is not best])
        is_spent = self.came_back or self.left
        if len(missing) < 2 or is_spent or not self._can_be_proved(answer, larger):
            return None
        self.came_back, self.blocks = True, {}
        self.plan.say(f"something of that is needed: proving it with {_names([best.knobs])}")
        return (yield from self._prove(self._standing(answer)))

    def _standing(self, answer: Configuration) -> Standing:
        plan = self.plan
        units = plan.units_of(answer)
        return Standing(
            answer,
            units,
            plan.rule,
            self._errors(self.units),
            seed=plan.seed,
            budget=plan.budget,
            cost_s=ROOM * _pair_s(plan) / 2,
            round_of=plan.round_of,
            stops=plan.stops,
            limit_s=plan.limit_s,
            blocks=self.blocks,
            has_room=_has_room(plan, len(units)),
            may_be_left=not (self.left or self.came_back),
            slowest=plan.slowest,
            is_clear=plan.is_clear,
        )

    def _prove(self, standing: Standing) -> Plan[Proof]:
        proof = yield from prove(standing)
        self.blocks.update(proof.blocks)
        if proof.rejected:
            self.rejected.append((standing.answer, proof.rejected))
        return proof

    def _errors(self, units: int) -> Errors:
        """What may be wrong of the next proof: of the main claim a tenth where the rest was used already."""
        errors = self.plan.rule.errors(units, comeback=self.came_back)
        spare = self.plan.rule.errors(units, comeback=True)
        return Errors(spare.main, errors.unit) if self.left else errors

    def _can_be_proved(self, answer: Configuration, last: Proof) -> bool:
        """Return whether an answer never failed, and its fewest pairs fit into the budget."""
        if self.plan.is_rejected(answer):
            return False
        error = self._errors(self.units).main
        return self.plan.budget.fits(last.run_s, 2 * self.plan.rule.fewest_pairs(error))


def _has_room(plan: ProofPlan, units: int) -> bool:
    """Whether the budget has room for an answer with so many units and for a smaller one after it."""
    pairs = plan.rule.fewest_pairs(plan.rule.errors(units).main)
    replicates = max(FEWEST_REPLICATES, units)
    rounds = -(-pairs // replicates)
    return units < 2 or _fits(plan, rounds * replicates + pairs, rounds * units, units)


def _can_look(plan: ProofPlan, units: int, unsure: int) -> bool:
    """Whether two rounds of the units that are not sure fit before the pairs of a proof."""
    pairs = plan.rule.fewest_pairs(plan.rule.errors(units).main)
    others = _PRESELECTING * (FEWEST_REPLICATES + unsure)
    return bool(unsure) and _fits(plan, LOOK_LEAVES * pairs, others, unsure, room=1.0)


def _fits(plan: ProofPlan, pairs: float, others: int, units: int, room: float = ROOM) -> bool:
    """Whether so many pairs fit, and other runs of the answer or of it without one of its units."""
    runs = int(2 * pairs) + others
    slow = others // max(1, units)  # at most: without what helps, a run takes as long as the original's
    seconds = pairs * _pair_s(plan) + (others - slow) * _answer_s(plan) + slow * plan.run_s
    return plan.budget.fits(room * seconds / runs, runs)


def _answer_s(plan: ProofPlan) -> float:
    return plan.run_s if plan.answer_s is None else min(plan.run_s, plan.answer_s)


def _pair_s(plan: ProofPlan) -> float:
    """Mean time of a pair: its second run, which is the original's in every other one, may be stopped."""
    answer_s = _answer_s(plan)
    stopped_s = min(plan.run_s, STOP_AT * answer_s) if plan.stops else plan.run_s
    return answer_s + (plan.run_s + stopped_s) / 2


def _superfluous(proof: Proof, units: int) -> list[Share]:
    """Units that are not shown to contribute; of all ``units`` of an answer the most useful one stays."""
    shares = proof.evidence.shares
    missing = [s for s in shares if s.why and not (s.shown or s.is_needed or s.is_likely)]
    if len(missing) == units and missing:
        missing.remove(max(missing, key=lambda share: share.ratio))
    return missing


def _keeps_up(smaller: Proof, larger: Proof) -> bool:
    """Whether it is proved faster too, and not by less than the larger answer was shown to be."""
    ours, theirs = smaller.evidence, larger.evidence
    is_as_fast = ours.ratio >= theirs.low or ours.high >= theirs.ratio
    return ours.verdict is Verdict.FASTER and is_as_fast


def _less(answer: Configuration, units: Iterable[Unit]) -> Configuration:
    knobs = {knob for unit in units for knob in unit}
    return Configuration(tuple(item for item in answer.items if item[0] not in knobs))


def _names(units: Iterable[Unit]) -> str:
    return ", ".join(knob for unit in units for knob in unit)

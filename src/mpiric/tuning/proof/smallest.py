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

Settings that can stand in for one another (two cures of one cause) both look superfluous while the other is
there. If several units were dropped and what is left is slower than the whole was shown to be, the one of
them that looked most useful comes back, once, and that proof and what follows have the tenth of the error
that was kept for it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Share, Verdict
from mpiric.model.trial import Trial
from mpiric.tuning.budget import Budget
from mpiric.tuning.proof.proof import Measure, Proof, Unit, prove
from mpiric.tuning.proof.stopping_rule import StoppingRule


@dataclass(frozen=True)
class ProofPlan:
    """What the proofs of an answer and of smaller ones have in common."""

    measure: Measure
    units_of: Callable[[Configuration], tuple[Unit, ...]]
    rule: StoppingRule
    budget: Budget
    rounds: Iterator[int]  # numbers of fresh rounds
    recorded: Callable[[Configuration], Iterable[Trial]]  # trials of an answer's rounds
    say: Callable[[str], None]
    proved: Callable[[Evidence], None]  # hears of every answer that is proved faster, smaller and smaller
    seed: int = 0
    stops: bool = False  # whether the second run of a pair may be stopped


@dataclass(frozen=True)
class Smallest:
    """The smallest answer that was proved, or the first one where none was; and what was found on the way."""

    proof: Proof
    rejected: tuple[tuple[Configuration, str], ...] = ()  # of the answers proved
    dropped: tuple[str, ...] = ()  # knobs


def prove_smallest(plan: ProofPlan, answer: Configuration) -> Smallest:
    """Prove an answer, then without what is not shown to contribute, until all of it is."""
    return _Sequence(plan, answer).run()


@dataclass
class _Sequence:
    """Answers proved one after the other."""

    plan: ProofPlan
    first: Configuration
    came_back: bool = False
    rejected: list[tuple[Configuration, str]] = field(default_factory=list)

    def run(self) -> Smallest:
        last = self._prove(self.first, self.plan.proved)
        while last.evidence.verdict is Verdict.FASTER:
            self.plan.proved(last.evidence)
            missing = _superfluous(last)
            answer = _less(last.evidence.configuration, missing)
            if not missing or not self._can_be_proved(answer, last):
                break
            self.plan.say(f"{_names(missing)} not shown to contribute: proving it without")
            smaller = self._prove(answer)
            if _keeps_up(smaller, last):
                last = smaller
                continue
            if len(missing) < 2 or self.came_back:
                break
            self.came_back = True
            best = max(missing, key=lambda share: share.ratio)
            self.plan.say(f"something of that is needed: proving it with {_names([best])}")
            smaller = self._prove(_less(last.evidence.configuration, [s for s in missing if s is not best]))
            if not _keeps_up(smaller, last):
                break
            last = smaller
        kept = last.evidence.configuration.as_dict()
        return Smallest(last, tuple(self.rejected), tuple(k for k, _ in self.first.items if k not in kept))

    def _prove(self, answer: Configuration, proved: Callable[[Evidence], None] = lambda _: None) -> Proof:
        plan = self.plan
        units = plan.units_of(answer)
        of_first = len(plan.units_of(self.first))
        proof = prove(
            plan.measure,
            answer,
            units,
            plan.rule,
            plan.rule.errors(of_first, comeback=self.came_back),
            seed=plan.seed,
            budget=plan.budget,
            recorded=plan.recorded(answer),
            rounds=plan.rounds,
            stops=plan.stops,
            proved=proved,
        )
        if proof.rejected:
            self.rejected.append((answer, proof.rejected))
        return proof

    def _can_be_proved(self, answer: Configuration, last: Proof) -> bool:
        """Whether there is budget for the fewest pairs, or they are on record already."""
        error = self.plan.rule.errors(len(self.plan.units_of(self.first))).main
        fits = self.plan.budget.fits(last.run_s, 2 * self.plan.rule.fewest_pairs(error))
        return fits or any(True for _ in self.plan.recorded(answer))


def _superfluous(proof: Proof) -> list[Share]:
    """Units that are not shown to contribute; where none is, all but the one that looks most useful."""
    shares = proof.evidence.shares
    missing = [share for share in shares if share.why and not share.shown and not share.is_needed]
    if len(missing) == len(shares) and missing:
        missing.remove(max(missing, key=lambda share: share.ratio))
    return missing


def _keeps_up(smaller: Proof, larger: Proof) -> bool:
    """Whether it is proved faster too, and not by less than the larger answer was shown to be."""
    return smaller.evidence.verdict is Verdict.FASTER and smaller.evidence.ratio >= larger.evidence.low


def _less(answer: Configuration, shares: list[Share]) -> Configuration:
    knobs = {knob for share in shares for knob in share.knobs}
    return Configuration(tuple(item for item in answer.items if item[0] not in knobs))


def _names(shares: list[Share]) -> str:
    return ", ".join(knob for share in shares for knob in share.knobs)

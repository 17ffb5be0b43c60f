"""The fastest of several programs: all in turn, then the best against the first by fresh pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Phase
from mpiric.plans.prove import Standing, prove
from mpiric.tuning.proof.stopping_rule import StoppingRule

BASELINE = Configuration()  # the first program
_CONFIDENCE = 0.95
_MOST_PAIRS = 6  # for each round of the choice


@dataclass(frozen=True)
class Fastest:
    """How many times as fast as the first each program is, and what fresh pairs show of the best one."""

    ratios: dict[Configuration, float]
    evidence: Evidence | None = None  # None where none seemed faster than the first


def fastest(others: Sequence[Configuration], rounds: int, seed: int) -> Plan[Fastest]:
    """Time the first program and the others in rounds, each in random order; prove the best of them.

    The best of many looks better than it is, so the runs that chose it do not count for it.
    """
    programs, random = [BASELINE, *others], Random(seed)  # noqa: S311 an order, not a secret
    seconds: dict[Configuration, list[float]] = {program: [] for program in programs}
    for number in range(rounds):
        for program in random.sample(programs, len(programs)):
            trial = yield Run(program, Phase.SEARCH, pair=number)
            seconds[program].append(trial.wall_s)
    ratios = {
        program: median(first / own for first, own in zip(seconds[BASELINE], times, strict=True))
        for program, times in seconds.items()
        if times
    }
    best = max(ratios, key=lambda program: ratios[program], default=BASELINE)
    if best == BASELINE:
        return Fastest(ratios)
    rule = StoppingRule(_CONFIDENCE, max_pairs=max(StoppingRule.min_pairs, _MOST_PAIRS * rounds))
    proof = yield from prove(Standing(best, rule=rule, seed=seed))
    return Fastest({**ratios, best: proof.evidence.ratio}, proof.evidence)

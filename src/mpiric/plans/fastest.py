"""Fastest of several programs: time all in turn, then prove the best one by fresh pairs."""

from collections.abc import Sequence
from random import Random
from statistics import median

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Evidence
from mpiric.model.run import Phase, Plan, Run
from mpiric.plans.prove import ProofState, prove
from mpiric.statistics.claims import StoppingRule

BASELINE = Configuration()  # the first program
_CONFIDENCE = 0.95
_PAIRS_PER_ROUND = 6  # limit of the pairs of the proof, per round of the selection


@dataclass(frozen=True)
class Fastest:
    """Speedup of each program over the first one, and the proof of the best one."""

    ratios: dict[Configuration, float]
    evidence: Evidence | None = None  # None if no program seemed faster than the first


def fastest(alternatives: Sequence[Configuration], rounds: int, seed: int) -> Plan[Fastest]:
    """Time the first program and its alternatives in rounds, each in random order; prove the best one.

    The best of many looks better than it is, so that the runs of the selection do not count in the proof.
    """
    programs, random = [BASELINE, *alternatives], Random(seed)  # noqa: S311 an order, not a secret
    seconds: dict[Configuration, list[float]] = {program: [] for program in programs}
    for number in range(rounds):
        for program in random.sample(programs, len(programs)):
            trial = yield Run(program, Phase.SEARCH, pair=number)
            seconds[program].append(trial.wall_s)
    ratios = {
        program: median(first_s / time_s for first_s, time_s in zip(seconds[BASELINE], times, strict=True))
        for program, times in seconds.items()
        if times
    }
    best = max(ratios, key=lambda program: ratios[program], default=BASELINE)
    if best == BASELINE:
        return Fastest(ratios)
    rule = StoppingRule(_CONFIDENCE, max_pairs=max(StoppingRule.min_pairs, _PAIRS_PER_ROUND * rounds))
    proof = yield from prove(ProofState(best, rule=rule, seed=seed))
    return Fastest({**ratios, best: proof.evidence.ratio}, proof.evidence)

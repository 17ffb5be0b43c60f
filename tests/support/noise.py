"""Programs whose running time is made up, for simulations of proofs."""

from collections.abc import Callable
from math import exp, sqrt
from random import Random

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Outcome, Phase, Trial


def _gaussian(random: Random, spread: float, run: int) -> float:
    return max(0.01, 1 + random.gauss(0, spread))


def _lognormal(random: Random, spread: float, run: int) -> float:
    return exp(random.gauss(0, spread))


def _heavy_tailed(random: Random, spread: float, run: int) -> float:
    student = random.gauss(0, 1) / sqrt(random.expovariate(0.5) / 2)  # t with 2 degrees of freedom
    return exp(max(-3.0, min(3.0, spread * student)))


def _coarse_clock(random: Random, spread: float, run: int) -> float:
    return max(0.05, round((1 + random.gauss(0, spread)) * 20) / 20)


def _drifting(random: Random, spread: float, run: int) -> float:
    disturbed = 1.5 if (run // 2) % 7 == 3 else 1.0
    return (1 + 0.01 * run) * disturbed * exp(random.gauss(0, spread))


def _first_of_a_pair_slower(random: Random, spread: float, run: int) -> float:
    return (1.2 if run % 2 else 1.0) * exp(random.gauss(0, spread))


NOISES: dict[str, Callable[[Random, float, int], float]] = {
    "gaussian": _gaussian,
    "lognormal": _lognormal,
    "heavy-tailed": _heavy_tailed,
    "coarse clock": _coarse_clock,
    "drifting": _drifting,
    "first of a pair slower": _first_of_a_pair_slower,
}


def program(
    noise: str, spread: float, seed: int, speedup: dict[Configuration, float] | None = None
) -> Callable[[Configuration, int], Trial]:
    """A `measure` for proofs; every configuration not in ``speedup`` behaves like the original."""
    random, run = Random(seed), [0]

    def measure(configuration: Configuration, pair: int) -> Trial:
        run[0] += 1
        wall_s = NOISES[noise](random, spread, run[0]) / (speedup or {}).get(configuration, 1.0)
        return Trial(configuration, Phase.PROOF, Outcome.OK, wall_s, wall_s, pair=pair)

    return measure

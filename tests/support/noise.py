"""Simulated run times of programs, for simulations of proofs."""

from collections.abc import Callable, Mapping
from math import exp, prod, sqrt
from random import Random

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Run, Trial

Noise = Callable[[Random, float, int], float]


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


def _bursting(random: Random, spread: float, run: int) -> float:
    """Return the factor for a machine whose CPUs are half used by another job in 12 of 36 runs."""
    return (2.2 if (run // 12) % 3 == 1 else 1.0) * exp(random.gauss(0, spread))


def _first_of_a_pair_slower(random: Random, spread: float, run: int) -> float:
    return (1.2 if run % 2 else 1.0) * exp(random.gauss(0, spread))


NOISES: dict[str, Noise] = {
    "gaussian": _gaussian,
    "lognormal": _lognormal,
    "heavy-tailed": _heavy_tailed,
    "coarse clock": _coarse_clock,
    "drifting": _drifting,
    "bursting": _bursting,
    "first of a pair slower": _first_of_a_pair_slower,
}


class SimulatedProgram:
    """A `measure` for proofs: the speedup of a configuration is the product of the speedups of its knobs.

    ``together`` holds further factors for sets of knobs. A run is stopped at its limit times ``stop``.
    """

    def __init__(
        self,
        noise: str,
        spread: float,
        seed: int,
        speedups: Mapping[str, float] | None = None,
        together: Mapping[frozenset[str], float] | None = None,
        stop: float = 1.0,
    ) -> None:
        self.noise, self.spread, self.random = NOISES[noise], spread, Random(seed)
        self.speedups, self.together, self.stop = speedups or {}, together or {}, stop
        self.made: list[Trial] = []

    def speedup(self, configuration: Configuration) -> float:
        """Return the speedup of a configuration over the original."""
        knobs = set(configuration.as_dict())
        alone = prod(self.speedups.get(knob, 1.0) for knob in knobs)
        return alone * prod(factor for several, factor in self.together.items() if several <= knobs)

    def __call__(self, run: Run) -> Trial:
        """Simulate a run."""
        seconds = self.noise(self.random, self.spread, len(self.made) + 1) / self.speedup(run.configuration)
        trial = Trial(
            run.configuration,
            Phase.PROOF,
            Outcome.OK,
            seconds,
            seconds,
            pair=run.pair,
            replicate=run.replicate,
        )
        limit_s = None if run.stop_at is None else run.stop_at * self.stop
        if limit_s is not None and seconds > limit_s:
            trial = stopped(trial, limit_s)
        self.made.append(trial)
        return trial


def stopped(trial: Trial, limit_s: float) -> Trial:
    """Return the trial as stopped by its limit."""
    return Trial(
        trial.configuration,
        trial.phase,
        Outcome.TIMED_OUT,
        limit_s,
        pair=trial.pair,
        replicate=trial.replicate,
        at_least=limit_s,
    )

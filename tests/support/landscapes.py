"""Made-up programs for the search: the exact time of each configuration is known."""

from dataclasses import dataclass
from itertools import product
from math import exp
from random import Random

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.statistics.space import Dimension, SearchSpace

# Number of settings of each knob: 256, 256, 243 and 256 configurations.
SHAPES = (
    (3, 3, 3, 3),
    (1,) * 8,
    (2,) * 5,
    (7, 3, 3, 1),
)


@dataclass
class Landscape:
    """Logarithms of the true times, and a `measure` that adds noise and counts the runs."""

    space: SearchSpace
    truth: dict[Configuration, float | None]  # None: crashes
    noise: float
    random: Random
    drift: float = 0.0
    slower: range = range(0)  # runs during which the machine is slower
    step: float = 0.0  # logarithm of the factor by which it is slower
    runs: int = 0

    @property
    def best(self) -> float:
        return min(value for value in self.truth.values() if value is not None)

    def regret(self, configuration: Configuration) -> float:
        """Return the true slowdown of a configuration relative to the best: 0.02 for 2 %."""
        value = self.truth[_mattering(configuration)]
        assert value is not None
        return exp(value - self.best) - 1

    def works(self, configuration: Configuration) -> bool:
        """Return whether a configuration runs without a crash."""
        return self.truth[_mattering(configuration)] is not None

    def measure(self, configuration: Configuration, limit_s: float) -> Trial:
        self.runs += 1
        value = self.truth[_mattering(configuration)]
        if value is None:
            return Trial(
                configuration, Phase.SEARCH, Outcome.FAILED, 0.05, exit_status=139, reason="signal 11"
            )
        speed = self.drift * self.runs + (self.step if self.runs in self.slower else 0.0)
        wall_s = 0.5 * exp(value + self.random.gauss(0, self.noise) + speed)
        if self.random.random() < 0.02:
            wall_s *= 1.5  # disturbed by another job
        if wall_s > limit_s:
            return Trial(configuration, Phase.SEARCH, Outcome.TIMED_OUT, limit_s, reason="too slow")
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)


def _mattering(configuration: Configuration) -> Configuration:
    """Return the configuration without the settings that have no effect."""
    return Configuration(tuple(item for item in configuration.items if not item[0].startswith("idle")))


def landscape(
    seed: int,
    shape: tuple[int, ...] = SHAPES[0],
    noise: float = 0.02,
    interaction: float = 0.0,
    crashing: float = 0.0,
    promised: float = 0.0,
    drift: float = 0.0,
    idle: int = 0,
    step: float = 0.0,
) -> Landscape:
    """Return a landscape in which two to four knobs change the time by 5 to 40 %.

    ``interaction`` scales the effects of pairs, ``promised`` is the probability that a knob with an effect
    has a high prior, and ``idle`` knobs without an effect are added. With a ``step``, the machine is slower
    until some run, or during an interval.
    """
    random = Random(seed)
    matter = random.sample(range(len(shape)), min(len(shape), random.choice((2, 3, 4))))
    main = [
        [0.0, *((random.choice((-1, -1, 1)) * random.uniform(0.05, 0.4)) if f in matter
                else random.gauss(0, 0.004) for _ in range(levels))]
        for f, levels in enumerate(shape)
    ]  # fmt: skip
    pairs = {
        (f, a, g, b): random.gauss(0, interaction)
        for f, g in product(matter, matter) if f < g
        for a in range(1, shape[f] + 1) for b in range(1, shape[g] + 1)
    }  # fmt: skip
    crashes = {(f, a) for f, n in enumerate(shape) for a in range(1, n + 1) if random.random() < crashing}
    truth: dict[Configuration, float | None] = {}
    for point in product(*(range(levels + 1) for levels in shape)):
        value = sum(main[f][level] for f, level in enumerate(point))
        value += sum(effect for (f, a, g, b), effect in pairs.items() if point[f] == a and point[g] == b)
        settings = {f"knob{f}": f"v{level}" for f, level in enumerate(point) if level}
        truth[Configuration.of(settings)] = None if crashes.intersection(enumerate(point)) else value
    is_promised = [f in matter and random.random() < promised for f in range(len(shape))]
    dimensions = tuple(
        Dimension(
            f"knob{f}",
            tuple(f"v{a}" for a in range(1, levels + 1)),
            (0.8 if is_promised[f] else 0.3) - f / 1000,
        )
        for f, levels in enumerate(shape)
    )
    dimensions += tuple(Dimension(f"idle{k}", ("v1", "v2", "v3"), 0.1) for k in range(idle))
    slower = range(0)
    if step:
        change = random.randrange(5, 20)
        slower = random.choice((range(change), range(change, change + random.randrange(10, 60))))
    return Landscape(SearchSpace(dimensions), truth, noise, random, drift, slower, step)

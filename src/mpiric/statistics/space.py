"""Search space: knobs and values, built by the workflow from the knobs that apply."""

import re
from functools import cached_property

from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass

_ORDERED = re.compile(r"\d{1,12}(B|KiB|MiB|GiB)?")

Point = tuple[int, ...]  # level of each factor; 0 leaves the setting as the user has it


@dataclass(frozen=True)
class Dimension:
    """Knob with the values to try. Settings that a value requires are added when it is rendered."""

    knob: str
    values: tuple[str, ...]  # values to try, in natural order; level n of the knob is values[n - 1]
    score: float = 0.0  # promise from 0 (no evidence) to 1 (the observation suggests it)
    try_first: tuple[str, ...] = ()
    weight: int = 0  # `Weight` of its settings: heavier ones come later and need a large gain

    @property
    def order(self) -> tuple[int, ...]:
        """Return the indices into ``values``, most promising first."""

        def rank(index: int) -> tuple[int, int]:
            value = self.values[index]
            return (self.try_first.index(value) if value in self.try_first else len(self.try_first), index)

        return tuple(sorted(range(len(self.values)), key=rank))

    @property
    def ordered(self) -> bool:
        """Return whether neighbours in ``values`` have similar effects."""
        return all(_ORDERED.fullmatch(value) for value in self.values)


def with_level(point: Point, factor: int, level: int) -> Point:
    """Return a point with another level of the factor with this index; level 0 removes the setting."""
    return (*point[:factor], level, *point[factor + 1 :])


@dataclass(frozen=True)
class SearchSpace:
    """Knobs that may be varied."""

    dimensions: tuple[Dimension, ...] = ()

    @cached_property
    def factors(self) -> tuple[Dimension, ...]:
        """Knobs that have values, by ascending weight, then by descending promise."""
        return tuple(sorted((d for d in self.dimensions if d.values), key=lambda d: (d.weight, -d.score)))

    @property
    def size(self) -> int:
        """Return the number of configurations, including the original."""
        total = 1
        for factor in self.factors:
            total *= 1 + len(factor.values)
        return total

    def configuration(self, point: Point) -> Configuration:
        """Return the settings of a point."""
        pairs = zip(self.factors, point, strict=True)
        return Configuration.of({d.knob: d.values[level - 1] for d, level in pairs if level})

    def part(self, configuration: Configuration) -> Point:
        """Return the point of a configuration, without its settings that the space does not contain."""
        settings = configuration.as_dict()
        return tuple(
            d.values.index(settings[d.knob]) + 1 if settings.get(d.knob) in d.values else 0
            for d in self.factors
        )

    def point(self, configuration: Configuration) -> Point | None:
        """Return the point of a configuration; None if it has a setting that the space does not contain."""
        point = self.part(configuration)
        return point if sum(map(bool, point)) == len(configuration.as_dict()) else None

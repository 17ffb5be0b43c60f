"""The space a search moves in: plain data, made by the workflow from the knobs that apply."""

import re
from dataclasses import dataclass
from functools import cached_property

from mpiric.model.configuration import Configuration

_ORDERED = re.compile(r"\d{1,12}(B|KiB|MiB|GiB)?")

Point = tuple[int, ...]  # level of each factor, 0 for "as the user has it"


@dataclass(frozen=True)
class Dimension:
    """One knob as the search sees it. What a value needs of other knobs comes along when it is spelled."""

    knob: str
    values: tuple[str, ...]  # worth trying, in their natural order; level n of the knob is values[n - 1]
    score: float = 0.0  # promise: 0 (no sign) to 1 (the observation calls for it)
    try_first: tuple[str, ...] = ()
    weight: int = 0  # `Weight` of its settings: heavier ones come later, and are kept for a large gain only

    @property
    def order(self) -> tuple[int, ...]:
        """Indices into ``values``, the most promising first."""
        return tuple(sorted(range(len(self.values)), key=self._rank))

    @property
    def ordered(self) -> bool:
        """Whether neighbours in ``values`` are alike."""
        return all(_ORDERED.fullmatch(value) for value in self.values)

    def _rank(self, index: int) -> tuple[int, int]:
        value = self.values[index]
        return (self.try_first.index(value) if value in self.try_first else len(self.try_first), index)


def with_level(point: Point, factor: int, level: int) -> Point:
    """Return a point with another level of one factor, given by its index; level 0 takes the setting back."""
    return (*point[:factor], level, *point[factor + 1 :])


@dataclass(frozen=True)
class SearchSpace:
    """Every knob that may be varied."""

    dimensions: tuple[Dimension, ...] = ()

    @cached_property
    def factors(self) -> tuple[Dimension, ...]:
        """Knobs that have values, lighter ones first, then the most promising; of equals as given."""
        return tuple(sorted((d for d in self.dimensions if d.values), key=lambda d: (d.weight, -d.score)))

    @property
    def size(self) -> int:
        """How many configurations there are, the original included."""
        total = 1
        for factor in self.factors:
            total *= 1 + len(factor.values)
        return total

    def configuration(self, point: Point) -> Configuration:
        """The settings of a point."""
        pairs = zip(self.factors, point, strict=True)
        return Configuration.of({d.knob: d.values[level - 1] for d, level in pairs if level})

    def part(self, configuration: Configuration) -> Point:
        """The point of those settings of a configuration that the space holds."""
        settings = configuration.as_dict()
        return tuple(
            d.values.index(settings[d.knob]) + 1 if settings.get(d.knob) in d.values else 0
            for d in self.factors
        )

    def point(self, configuration: Configuration) -> Point | None:
        """The point of a configuration; None when it sets something the space does not hold."""
        point = self.part(configuration)
        return point if sum(map(bool, point)) == len(configuration.as_dict()) else None

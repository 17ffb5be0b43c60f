"""The space a search moves in: plain data, made by the workflow from the knobs that apply."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from mpiric.model.configuration import Configuration
from mpiric.model.knob import ResultsEffect

_MOST_LEVELS = 24  # of knobs that move together; the most alike positions are kept
_ORDERED = re.compile(r"\d{1,12}(B|KiB|MiB|GiB)?")

Point = tuple[int, ...]  # level of each factor, 0 for "as the user has it"


@dataclass(frozen=True)
class Dimension:
    """One knob as the search sees it."""

    knob: str
    values: tuple[str, ...]  # worth trying, in their natural order
    score: float = 0.0  # promise: 0 (no sign) to 1 (the observation calls for it)
    because: str = ""
    try_first: tuple[str, ...] = ()
    results: ResultsEffect = ResultsEffect.NONE
    moves_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Factor:
    """One knob, or several that must be chosen together, and its levels besides "as the user has it"."""

    knobs: tuple[str, ...]
    levels: tuple[tuple[tuple[str, str], ...], ...]  # each the settings it makes
    order: tuple[int, ...]  # indices into ``levels``, the most promising first
    score: float
    because: str
    ordered: bool  # neighbours in ``levels`` are alike


@dataclass(frozen=True)
class Space:
    """Every knob that may be varied. Knobs that move together become one factor."""

    dimensions: tuple[Dimension, ...] = ()

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """Factors, the most promising first; of equals in the order of the dimensions."""
        made = [_factor(group) for group in _groups(tuple(d for d in self.dimensions if d.values))]
        return tuple(sorted(made, key=lambda factor: -factor.score))

    @property
    def size(self) -> int:
        """How many configurations there are, the original included."""
        total = 1
        for factor in self.factors:
            total *= 1 + len(factor.levels)
        return total

    def configuration(self, point: Point) -> Configuration:
        """The settings of a point."""
        settings = [
            setting
            for factor, level in zip(self.factors, point, strict=True)
            if level
            for setting in factor.levels[level - 1]
        ]
        return Configuration.of(dict(settings))

    def point(self, configuration: Configuration) -> Point | None:
        """The point of a configuration; None when it sets something the space does not hold."""
        values = configuration.as_dict()
        point: list[int] = []
        for factor in self.factors:
            mine = tuple((knob, values.pop(knob)) for knob in factor.knobs if knob in values)
            if mine and mine not in factor.levels:
                return None
            point.append(factor.levels.index(mine) + 1 if mine else 0)
        return None if values else tuple(point)

    def reasons(self, configuration: Configuration) -> dict[str, str]:
        """Knob → why it was expected to help, for the knobs that a configuration sets."""
        chosen = configuration.as_dict()
        return {d.knob: d.because for d in self.dimensions if d.knob in chosen}


def _groups(dimensions: tuple[Dimension, ...]) -> Iterable[tuple[Dimension, ...]]:
    """Connected components of "moves with", in the order of their first member."""
    group = {d.knob: d.knob for d in dimensions}
    for d in dimensions:
        for other in d.moves_with:
            if other in group and group[other] != group[d.knob]:
                old, new = group[other], group[d.knob]
                group = {knob: new if name == old else name for knob, name in group.items()}
    names = dict.fromkeys(group[d.knob] for d in dimensions)
    return [tuple(d for d in dimensions if group[d.knob] == name) for name in names]


def _factor(group: tuple[Dimension, ...]) -> Factor:
    levels = tuple(product(*(tuple((d.knob, value) for value in d.values) for d in group)))
    if len(levels) > _MOST_LEVELS:
        kept = set(sorted(range(len(levels)), key=lambda i: (_spread(group, levels[i]), i))[:_MOST_LEVELS])
        levels = tuple(level for index, level in enumerate(levels) if index in kept)
    best = max(group, key=lambda d: d.score)
    return Factor(
        knobs=tuple(d.knob for d in group),
        levels=levels,
        order=tuple(sorted(range(len(levels)), key=lambda i: (_rank(group, levels[i]), i))),
        score=best.score,
        because=best.because,
        ordered=len(group) == 1 and all(_ORDERED.fullmatch(value) for value in group[0].values),
    )


def _spread(group: tuple[Dimension, ...], level: tuple[tuple[str, str], ...]) -> float:
    """How far apart the knobs of a level stand in their own orders, 0 to 1; those to try first come first."""
    places = [
        d.values.index(value) / max(1, len(d.values) - 1) for d, (_, value) in zip(group, level, strict=True)
    ]
    tried_first = sum(value in d.try_first for d, (_, value) in zip(group, level, strict=True))
    return max(places) - min(places) - tried_first


def _rank(group: tuple[Dimension, ...], level: tuple[tuple[str, str], ...]) -> int:
    """Sum of the positions in the knobs' lists of what to try first."""
    return sum(
        d.try_first.index(value) if value in d.try_first else len(d.try_first)
        for d, (_, value) in zip(group, level, strict=True)
    )

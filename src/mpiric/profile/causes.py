"""Causes before their effects: the order in which advice is given, and what an effect says of its cause."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.model.profile import Advice


def causes_first(given: Sequence[Advice], effect_of: Mapping[str, Sequence[str]]) -> tuple[Advice, ...]:
    """The most promising first, each cause before its effects, each effect with the causes that are there.

    A cause is worth what its effects are, for they go with it. ``effect_of``: id → ids of possible causes.
    """
    there = {advice.finding.id for advice in given}
    causes = {name: tuple(cause for cause in effect_of.get(name, ()) if cause in there) for name in there}
    weight = {advice.finding.id: advice.promise for advice in given}
    for name in sorted(there, key=lambda name: -_depth(name, causes)):
        for cause in causes[name]:
            weight[cause] = max(weight[cause], weight[name])
    ordered = sorted(
        given, key=lambda advice: (-weight[advice.finding.id], _depth(advice.finding.id, causes))
    )
    return tuple(replace(advice, effect_of=causes[advice.finding.id]) for advice in ordered)


def _depth(name: str, causes: Mapping[str, Sequence[str]]) -> int:
    """Length of the longest chain of causes behind a finding; rules form no circle, which a test checks."""
    return max((1 + _depth(cause, causes) for cause in causes[name]), default=0)

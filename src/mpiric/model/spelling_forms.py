"""Forms of settings: variables that take a knob's value, a size in bytes, or a word for the value."""

from collections.abc import Mapping

from mpiric.model.knob import Spell, parse_bytes
from mpiric.model.spelling import Spelling


def plain(*variables: str) -> Spell:
    """Variables that take the knob's own value."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, value))


def in_bytes(*variables: str) -> Spell:
    """Variables that take a size as a number of bytes."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, str(parse_bytes(value))))


def by_value(settings: Mapping[str, Mapping[str, str]]) -> Spell:
    """Variables of their own for each value; values that are not named have no setting."""
    return lambda value, _: Spelling(environment=settings[value]) if value in settings else None


def word(variable: str, words: Mapping[str, str]) -> Spell:
    """A variable that takes a word for each value; values that are not named have no setting."""
    return by_value({value: {variable: text} for value, text in words.items()})

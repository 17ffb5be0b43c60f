"""Spellings with environment variables whose value is the knob's value, its size in bytes, or a keyword."""

from collections.abc import Mapping

from mpiric.model.knob import Spell, parse_bytes
from mpiric.model.spelling import Spelling


def plain(*variables: str) -> Spell:
    """Return a spelling that sets variables to the knob's value."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, value))


def in_bytes(*variables: str) -> Spell:
    """Return a spelling that sets variables to a number of bytes."""
    return lambda value, _: Spelling(environment=dict.fromkeys(variables, str(parse_bytes(value))))


def by_value(settings: Mapping[str, Mapping[str, str]]) -> Spell:
    """Return a spelling with a set of variables for each value; values without an entry have no setting."""
    return lambda value, _: Spelling(environment=settings[value]) if value in settings else None


def word(variable: str, keywords: Mapping[str, str]) -> Spell:
    """Return a spelling that sets a variable to a keyword for each value; others have no setting."""
    return by_value({value: {variable: text} for value, text in keywords.items()})

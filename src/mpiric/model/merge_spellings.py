"""Merging of spellings: those of one configuration are made to agree before a launcher renders them.

Two knobs may meet in one variable nowhere else. ``GLIBC_TUNABLES`` is a list
(``name=value:name=value``) that the user and several knobs write to: each knob says its part in
`Spelling.tunables`, and the first of them then carries one value with all parts and what the user
had. Any other variable has one writer: two knobs that want different values of it contradict each
other.
"""

from collections.abc import Mapping
from dataclasses import replace

from mpiric.model.errors import MismatchError
from mpiric.model.spelling import Spelling

TUNABLES_VARIABLE = "GLIBC_TUNABLES"


def merge_tunables(inherited: str, chosen: Mapping[str, str]) -> str:
    """The user's list with ``chosen`` added or put in place of what it says; the user's order first."""
    merged: dict[str, str] = {}
    for entry in inherited.split(":"):
        name, equals, value = entry.partition("=")
        if equals and name:
            merged[name] = value
    merged.update(chosen)
    return ":".join(f"{name}={value}" for name, value in merged.items())


def merge_spellings(spellings: Mapping[str, Spelling], environment: Mapping[str, str]) -> dict[str, Spelling]:
    """Knob → spelling, with glibc's tunables folded into one variable and contradictions refused.

    ``environment`` is what the ranks would see without the configuration. A variable that one knob
    sets and another takes away stays set. Raises MismatchError when two knobs set one variable, or
    one tunable, to different values.
    """
    tunables: dict[str, str] = {}
    variables: dict[str, str] = {}
    writers: dict[str, str] = {}
    for knob, spelling in spellings.items():
        for written, taken in ((spelling.tunables, tunables), (spelling.environment, variables)):
            for name, value in written.items():
                if taken.setdefault(name, value) != value:
                    raise MismatchError(
                        f"the knobs {writers[name]} and {knob} want different values of {name}: "
                        f"{taken[name]!r} and {value!r}",
                        hint=f"choose only one of them (--without {knob})",
                    )
                writers.setdefault(name, knob)
    merged = merge_tunables(environment.get(TUNABLES_VARIABLE, ""), tunables)
    result = {}
    for knob, spelling in spellings.items():
        own = dict(spelling.environment)
        if spelling.tunables and merged:
            own[TUNABLES_VARIABLE], merged = merged, ""
        kept = tuple(name for name in spelling.unset if name not in variables)
        result[knob] = replace(spelling, environment=own, tunables={}, unset=kept)
    return result

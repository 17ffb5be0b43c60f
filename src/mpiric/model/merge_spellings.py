"""Merge the spellings of a configuration, before a launcher renders them.

A variable has one writer: two knobs that need different values of it are in conflict. ``GLIBC_TUNABLES`` is
the exception: it is a list (``name=value:name=value``) that the user and several knobs write to. Each knob
gives its part in `Spelling.tunables`; after the merge the first of these knobs carries the complete list.
"""

from collections.abc import Mapping
from dataclasses import replace

from mpiric.model.errors import MismatchError
from mpiric.model.spelling import Spelling

TUNABLES_VARIABLE = "GLIBC_TUNABLES"


def merge_tunables(inherited: str, chosen: Mapping[str, str]) -> str:
    """Return the user's list with ``chosen`` added or replaced; the user's entries stay first."""
    merged: dict[str, str] = {}
    for entry in inherited.split(":"):
        name, equals, value = entry.partition("=")
        if equals and name:
            merged[name] = value
    merged.update(chosen)
    return ":".join(f"{name}={value}" for name, value in merged.items())


def merge_spellings(spellings: Mapping[str, Spelling], environment: Mapping[str, str]) -> dict[str, Spelling]:
    """Merge glibc tunables into one variable, and detect conflicts between knobs.

    ``environment`` is the environment of the ranks without the configuration. A variable that one knob sets
    and another removes stays set. Raises MismatchError if two knobs set a variable or tunable to different
    values.
    """
    tunables: dict[str, str] = {}
    variables: dict[str, str] = {}
    writers: dict[str, str] = {}
    for knob, spelling in spellings.items():
        for written, merged_values in ((spelling.tunables, tunables), (spelling.environment, variables)):
            for name, value in written.items():
                if merged_values.setdefault(name, value) != value:
                    raise MismatchError(
                        f"the knobs {writers[name]} and {knob} want different values of {name}: "
                        f"{merged_values[name]!r} and {value!r}",
                        hint=f"choose only one of them (--without {knob})",
                    )
                writers.setdefault(name, knob)
    merged = merge_tunables(environment.get(TUNABLES_VARIABLE, ""), tunables)
    result = {}
    for knob, spelling in spellings.items():
        variables_of_knob = dict(spelling.environment)
        if spelling.tunables and merged:
            variables_of_knob[TUNABLES_VARIABLE], merged = merged, ""
        unset = tuple(name for name in spelling.unset if name not in variables)
        result[knob] = replace(spelling, environment=variables_of_knob, tunables={}, unset=unset)
    return result

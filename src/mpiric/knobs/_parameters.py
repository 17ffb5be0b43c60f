"""Knobs of the user's own parameters: `tune --param NAME=…` replaces ``{NAME}`` in the command."""

from functools import cache

from mpiric.model.knob import Knob, Skip, Written
from mpiric.model.launch import Spelling
from mpiric.model.parameter import FORM, PARAMETERS, check_parameter_value


@cache
def parameter_knob(name: str) -> Knob:
    """Return the knob of a parameter, by its name in the command: ``{NAME}``."""
    return Knob(
        name=name,
        sentence=f"Replaces {name} in the arguments of the command.",
        why="your own parameter of the program",
        source="the user",
        evidence="the runs of the tune",
        domain=Written(FORM, check_parameter_value),
        consider=lambda _: Skip("its values are given with --param"),
        settings=lambda _value, _situation: Spelling(),  # `lab.render` replaces the arguments
        family=PARAMETERS,
    )

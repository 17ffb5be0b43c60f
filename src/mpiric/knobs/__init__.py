"""Knobs: each file declares a family in ``KNOBS``. `mpis/` and `launchers/` define their settings."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from mpiric.host.packaged import modules_of
from mpiric.knobs._defaults import DefaultRule, default_rules
from mpiric.knobs._inherited import inherited_problems
from mpiric.knobs._layouts import why_hints_not_set, why_not_set
from mpiric.knobs._outputs import output_system, outputs
from mpiric.knobs._relevance import distinct, is_in_force, scaled
from mpiric.knobs.libraries import binding_in_force, default_level
from mpiric.knobs.transport import carriers
from mpiric.model.configuration import FORM, PARAMETER, PARAMETERS, check_parameter_value
from mpiric.model.job import Meaning, Spelling
from mpiric.model.knob import REMOVED, SET_THE_CPUS, FilesEffect, Knob, ResultsEffect, Skip, Try, Written
from mpiric.model.situation import Situation

__all__ = [
    "DefaultRule",
    "all_knobs",
    "binding_in_force",
    "carriers",
    "check_configuration",
    "consider",
    "default_rules",
    "distinct",
    "inherited_problems",
    "is_binding_kept",
    "is_in_force",
    "knob_named",
    "output_system",
    "outputs",
    "switched",
    "to_try",
    "why_hints_not_set",
    "why_not_set",
]
LOG = logging.getLogger(__package__)
_MOST_SHOWN = 100  # limit of a rejected value in a message, in characters


def switched(situation: Situation, values: Mapping[str, str]) -> Situation:
    """Return the situation with the MPI library that ``values`` selects, for all other knobs."""
    library = next((other for other in situation.other_libraries if other.label == values.get("mpi")), None)
    if library is None:
        return situation
    libraries = (situation.mpi, *(other for other in situation.other_libraries if other is not library))
    return replace(situation, mpi=library, other_libraries=libraries)


def is_binding_kept(label: str, situation: Situation) -> bool:
    """Return whether ranks under the library with a label are certainly bound like the command's ranks."""
    library = next((other for other in situation.other_libraries if other.label == label), situation.mpi)
    options = [option.meaning for segment in situation.job.segments for option in segment.options]
    if Meaning.BINDING in options:  # the launcher's option is translated
        return True
    level = binding_in_force(situation.mpi, situation)
    return bool(level) and level == default_level(library, situation)


@cache
def all_knobs() -> Mapping[str, Knob]:
    """Return all knobs by name, families in alphabetical order, knobs of a family in their declared order."""
    knobs: dict[str, Knob] = {}
    for stem, module in modules_of(sys.modules[__name__]).items():
        for knob in module.KNOBS:
            if knob.name in knobs:
                raise ValueError(f"knobs/{stem}.py declares {knob.name} again")
            knobs[knob.name] = replace(knob, family=stem)
    return knobs


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


def knob_named(name: str) -> Knob:
    """Return the knob of a configuration: a registered one, or the knob of a parameter ``{NAME}``."""
    return parameter_knob(name) if PARAMETER.fullmatch(name) else all_knobs()[name]


def consider(knob: Knob, situation: Situation) -> Skip | Try:
    """Decide if a knob is worth a run: permitted, able to have an effect, with values left to try."""
    if reason := _not_allowed(knob, situation):
        return Skip(reason)
    if knob.needs_mpi and not situation.observation.uses_mpi:
        return Skip("the program makes no MPI call")
    if knob.name in SET_THE_CPUS and situation.job.binding_wrapper:
        return Skip(f"'{situation.job.binding_wrapper}' behind the launcher sets the CPUs of each rank")
    answer = knob.consider(situation)
    if LOG.isEnabledFor(logging.DEBUG):
        why = answer.reason if isinstance(answer, Skip) else f"{', '.join(answer.values)}: {answer.because}"
        LOG.debug("knob %s: %s: %s", knob.name, "skip" if isinstance(answer, Skip) else "try", why)
    if isinstance(answer, Try) and not answer.values:
        return Skip("no other value is worth trying here")
    return scaled(knob, answer, situation) if isinstance(answer, Try) else answer


def _not_allowed(knob: Knob, situation: Situation) -> str:
    allowed = situation.allowed
    granted = {"": True, "--vary-ranks": allowed.vary_ranks, "--vary-nodes": allowed.vary_nodes}
    if not granted[knob.only_when_asked]:
        return f"only tried with {knob.only_when_asked}"
    if knob.results is ResultsEffect.ROUNDING and not (allowed.rounding or knob.only_when_asked):
        return "may change rounding, which was not allowed"
    if not {FilesEffect.LATE: allowed.late, FilesEffect.RELAYOUT: allowed.relayout}.get(knob.files, True):
        return f"only tried with --allow-{knob.files.value}"
    return ""


def to_try(situation: Situation) -> dict[str, Try]:
    """Return the knobs worth a run, sorted by their probability to help, then by the registry's order."""
    answers = {name: consider(knob, situation) for name, knob in all_knobs().items()}
    tried = [(name, answer) for name, answer in answers.items() if isinstance(answer, Try)]
    return dict(sorted(tried, key=lambda entry: -entry[1].prior))


def _truncated(value: object) -> str:
    """Return an external value, truncated for use in a sentence."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…, of {len(text)} characters,"


def check_configuration(values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the problems of knob values from outside (a recipe, ``--only``), a sentence each.

    A valid value is an element of a fixed set, a bounded number or a plain name: it cannot contain a path,
    a command or a variable.
    """
    problems = []
    for name, value in values.items():
        knob = knob_named(name) if PARAMETER.fullmatch(name) else all_knobs().get(name)
        if name in REMOVED:
            problems.append(f"the knob {name} has been removed: it made no program faster")
        elif knob is None:
            problems.append(f"no knob is called {name!r}")
        elif not isinstance(value, str) or not knob.domain.accepts(value):
            takes = f", which takes {knob.domain.form}" if isinstance(knob.domain, Written) else ""
            problems.append(f"{_truncated(value)} is not a value of the knob {name}{takes}")
    return tuple(problems)

"""Parts of declarations that several knobs have in common."""

from collections.abc import Callable

from mpiric.model.knob import Applicability, Promise
from mpiric.model.situation import Situation


def yes(reason: str) -> Applicability:
    """The verdict that a knob can change something for this job."""
    return Applicability(applies=True, reason=reason)


def no(reason: str) -> Applicability:
    """The verdict that a knob can change nothing for this job."""
    return Applicability(applies=False, reason=reason)


def always(*values: str) -> Callable[[Situation], tuple[str, ...]]:
    """The same values in every situation."""
    return lambda _: values


def promising(score: float, because: str) -> Callable[[Situation], Promise]:
    """The same promise in every situation."""
    return lambda _: Promise(score, because)


def suits_every_program(_value: str, _situation: Situation) -> bool:
    """A default of a site whatever the value, wherever it was measured."""
    return True


def suits_every_program_between_nodes(_value: str, situation: Situation) -> bool:
    """A default of a site when it was measured between nodes: a job on one node says nothing of networks."""
    return situation.nodes > 1

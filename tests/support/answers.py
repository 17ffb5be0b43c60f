"""Answers of knobs by name: values that they would try, or the reason why they are skipped."""

from dataclasses import replace

from tests.support.behaviours import doing

from mpiric.knobs import all_knobs, consider
from mpiric.model.knob import Skip, Try
from mpiric.model.profile import Behaviour
from mpiric.model.situation import Situation

LEAST = 0.01 / 1.01  # share of the time that a gain of 1 % saves


def values(name: str, case: Situation) -> tuple[str, ...]:
    """Return the values of a knob, regardless of the user's limits; none if it is skipped."""
    answer = all_knobs()[name].consider(case)
    return answer.values if isinstance(answer, Try) else ()


def skipped(name: str, case: Situation) -> str:
    """Return the reason why a knob is skipped, "" if it is tried."""
    answer = consider(all_knobs()[name], case)
    return answer.reason if isinstance(answer, Skip) else ""


def needless(name: str, case: Situation, shown: Behaviour, least_share: float = LEAST) -> str:
    """Return the reason why a knob cannot affect a recorded behaviour, "" if it can."""
    return skipped(name, replace(doing(case, shown), least_share=least_share))

"""Knobs that mpiric's own runtime carries out, preloaded into the ranks."""

from collections.abc import Mapping

from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


def no_runtime(situation: Situation) -> str:
    """Why the runtime cannot be put into the ranks; "" when it can."""
    if not situation.tuner.library:
        return situation.tuner.why_not or "this installation has no runtime for this MPI"
    return situation.no_preload


def by_the_runtime(situation: Situation, environment: Mapping[str, str], note: str = "") -> Spelling | None:
    """Options of the runtime and the runtime itself; None without one for this MPI."""
    library = situation.tuner.library
    return Spelling(environment=environment, preload=(library,), note=note) if library else None

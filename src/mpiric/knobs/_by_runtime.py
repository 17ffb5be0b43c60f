"""Knobs that mpiric's own runtime carries out, preloaded into the ranks."""

from collections.abc import Mapping

from mpiric.knobs._declare import no, yes
from mpiric.knobs._reading import unreachable_by_preload
from mpiric.model.knob import Applicability
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


def reachable(situation: Situation) -> Applicability:
    """Whether the runtime is there for this MPI, and can be put into the ranks."""
    if not situation.tuner.library:
        return no(situation.tuner.why_not or "this installation has no runtime for this MPI")
    if reason := unreachable_by_preload(situation):
        return no(reason)
    return yes("the runtime can be put into the ranks")


def by_the_runtime(situation: Situation, environment: Mapping[str, str], note: str = "") -> Spelling | None:
    """Options of the runtime and the runtime itself; None without one for this MPI."""
    library = situation.tuner.library
    return Spelling(environment=environment, preload=(library,), note=note) if library else None

"""Knobs that mpiric's preloaded runtime implements."""

from collections.abc import Mapping

from mpiric.model.launch import Spelling
from mpiric.model.situation import Situation


def no_runtime(situation: Situation) -> str:
    """Return why the runtime cannot be loaded into the ranks; "" if it can."""
    if not situation.tuner.library:
        return situation.tuner.why_not or "this installation has no runtime for this MPI"
    return situation.no_preload


def by_the_runtime(situation: Situation, environment: Mapping[str, str], note: str = "") -> Spelling | None:
    """Return a spelling that loads the runtime with options; None without a runtime for this MPI."""
    library = situation.tuner.library
    return Spelling(environment=environment, preload=(library,), note=note) if library else None

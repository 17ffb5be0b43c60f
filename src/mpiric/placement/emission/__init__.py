"""One file a launcher: plan → the words that make it so (`emit`), on unequal nodes too (`emit_uneven`)."""

import sys
from collections.abc import Sequence
from functools import cache
from types import ModuleType

from mpiric.model.errors import MpiricError
from mpiric.model.placement import Emission, Plan
from mpiric.model.registry import modules_of

__all__ = ["emit", "emit_all", "launchers"]


@cache
def _emitters() -> dict[str, ModuleType]:
    return modules_of(sys.modules[__name__])


def launchers() -> tuple[str, ...]:
    """Names, in alphabetical order."""
    return tuple(sorted(_emitters()))


def emit(plan: Plan, launcher: str) -> Emission:
    """For one launcher by its name. Raises MpiricError for a name that none has."""
    if launcher not in _emitters():
        raise MpiricError(f"there is no launcher {launcher!r}", hint=f"one of {', '.join(launchers())}")
    emission: Emission = _emitters()[launcher].emit(plan)
    return emission


def emit_all(plans: Sequence[Plan]) -> dict[str, Emission]:
    """For every launcher, by name. Several plans are those of nodes that differ, in the order of ranks."""
    if len(plans) == 1:
        return {name: emit(plans[0], name) for name in _emitters()}
    return {name: emitter.emit_uneven(plans) for name, emitter in _emitters().items()}

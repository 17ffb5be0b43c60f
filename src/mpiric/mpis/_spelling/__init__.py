"""How each MPI implementation spells the knobs: one file an implementation, each with ``spell``."""

import sys
from functools import cache
from types import ModuleType

from mpiric.model.registry import modules_of
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling


@cache
def _implementations() -> dict[str, ModuleType]:
    return modules_of(sys.modules[__name__])


def implementations() -> tuple[str, ...]:
    """Registry keys of the implementations that spell knobs."""
    return tuple(_implementations())


def spell(implementation: str, knob: str, value: str, situation: Situation) -> Spelling | None:
    """How this implementation writes ``knob=value`` in this situation; None when it has no way to say it."""
    module = _implementations().get(implementation)
    spelled: Spelling | None = module.spell(knob, value, situation) if module is not None else None
    return spelled

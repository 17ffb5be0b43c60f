"""The same program on memory that is filled before it gets it: shows what it sends without having set it.

Fresh pages are zeros, and memory that an allocator gives out again is not. A program that sends rows with
corners that it never wrote sends other bytes under other allocators, without having computed anything else.
"""

from dataclasses import replace

from mpiric.model.merge_spellings import TUNABLES_VARIABLE
from mpiric.model.situation import Situation

_FILLED = "glibc.malloc.perturb=85"


def on_filled_memory(situation: Situation) -> Situation:
    """The situation with glibc filling what it allocates and frees; nothing else changes."""
    environment = situation.job.environment
    own = environment.get(TUNABLES_VARIABLE)
    filled = {**environment, TUNABLES_VARIABLE: f"{own}:{_FILLED}" if own else _FILLED}
    return replace(situation, job=replace(situation.job, environment=filled))

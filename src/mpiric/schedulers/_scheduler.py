"""What a scheduler is to mpiric: a name and a pure function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mpiric.model.allocation import Allocation

ReadText = Callable[[str], str | None]  # a file's contents, None when it cannot be read


@dataclass(frozen=True)
class Scheduler:
    """``recognise`` finds an allocation in the environment of a process, and in files named there.

    It gives None where the environment is not the scheduler's, and raises MpiricError where it is, but
    contradicts itself. Of several that recognise one, the lowest ``turn`` counts.
    """

    name: str
    recognise: Callable[[Mapping[str, str], ReadText], Allocation | None]
    turn: int = 0

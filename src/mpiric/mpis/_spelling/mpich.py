"""How MPICH spells the knobs."""

from mpiric.algorithms.library import version_numbers
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis._spelling import _candidates, _ch4


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """How MPICH writes ``knob=value``; None when it cannot say it."""
    newer = version_numbers(situation.mpi.version) >= (4, 3)
    speller = _ch4.spellers(newer).get(knob)
    return speller(value, situation) if speller else _candidates.spell("mpich", knob, value, situation)

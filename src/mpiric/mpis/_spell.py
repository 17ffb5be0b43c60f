"""Settings of the MPI library of a situation for the values of knobs."""

from mpiric.algorithms.library import find_algorithm, version_numbers
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis._implementation import implementations

_ALGORITHM = "-algorithm"


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """The library's setting for ``knob=value``; None when it has none."""
    mpi = situation.mpi
    implementation = implementations().get(mpi.implementation)
    speller = implementation.spellers(mpi.version).get(knob) if implementation else None
    if speller is not None:
        return speller(value, situation)
    if not knob.endswith(_ALGORITHM):
        return None
    collective = knob.removesuffix(_ALGORITHM).replace("-", "_")
    algorithm = find_algorithm(mpi.implementation, collective, value, version_numbers(mpi.version))
    return Spelling(environment=dict(algorithm.environment)) if algorithm else None

"""The collective algorithms of an implementation, as `spec/candidates` lists them, spelled."""

from mpiric.algorithms.library import find_algorithm, version_numbers
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_SUFFIX = "-algorithm"


def spell(implementation: str, knob: str, value: str, situation: Situation) -> Spelling | None:
    """``allreduce-algorithm=ring`` by the first candidate of that name this version has."""
    if not knob.endswith(_SUFFIX):
        return None
    collective = knob.removesuffix(_SUFFIX).replace("-", "_")
    algorithm = find_algorithm(implementation, collective, value, version_numbers(situation.mpi.version))
    return Spelling(environment=dict(algorithm.environment)) if algorithm else None

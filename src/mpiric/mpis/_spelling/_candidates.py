"""The collective algorithms of an implementation, as `spec/candidates` lists them, spelled."""

from mpiric.model.candidates import CANDIDATES, version_numbers
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_SUFFIX = "-algorithm"


def spell(implementation: str, knob: str, value: str, situation: Situation) -> Spelling | None:
    """``allreduce-algorithm=ring`` by the first candidate of that name this version has."""
    if not knob.endswith(_SUFFIX):
        return None
    collective = knob.removesuffix(_SUFFIX).replace("-", "_")
    for candidate in CANDIDATES:
        is_meant = (candidate.implementation, candidate.collective, candidate.name) == (
            implementation,
            collective,
            value,
        )
        if is_meant and candidate.exists_in(version_numbers(situation.mpi.version)):
            return Spelling(environment=dict(candidate.environment))
    return None

"""The collective algorithms of an implementation, as `spec/candidates` lists them, spelled."""

import re

from mpiric.model.candidates import CANDIDATES
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_SUFFIX = "-algorithm"


def numbers(version: str) -> tuple[int, ...]:
    """``4.0.2`` → (4, 0, 2); what follows the numbers is left away."""
    head = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in head[0].split(".")) if head else ()


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
        if is_meant and candidate.exists_in(numbers(situation.mpi.version)):
            return Spelling(environment=dict(candidate.environment))
    return None

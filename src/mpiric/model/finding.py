"""Finding: an observation, its evidence and its fix."""

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class Finding:
    """Observation for the user, with evidence and fix; ``id`` is stable (``unbound-ranks``)."""

    id: str
    says: str  # a sentence
    evidence: str  # numbers or setting that show it
    fix: str  # instruction, as exact as possible

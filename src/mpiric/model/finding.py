"""Finding: one thing noticed, what shows it, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something worth telling, with its cost and fix; ``id`` is stable (``unbound-ranks``)."""

    id: str
    says: str  # one sentence
    evidence: str  # the numbers or the setting that show it
    fix: str  # what to do, as exactly as it can be said

"""CollectiveModel: how collective calls of a record were turned into traffic between pairs of ranks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CollectiveModel:
    """Calls of one collective on communicators of one size, or why they were left out."""

    collective: str
    ranks: int  # of the communicator
    calls: int
    algorithm: str  # "" when left out
    source: str  # who says that this algorithm ran, or why the calls are left out
    bytes: float  # sent between ranks in all

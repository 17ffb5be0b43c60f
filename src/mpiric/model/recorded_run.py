"""RecordedRun: what of a record counts beside the traffic of pairs when its ranks are mapped."""

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


@dataclass(frozen=True)
class RecordedRun:
    """Times of a run, and how its collective calls became pairs."""

    wall_s: float
    exchange_s: float  # in calls that exchange data, waiting included; mean of the ranks
    exact_bytes: float  # of messages and one-sided transfers
    collectives: tuple[CollectiveModel, ...]  # the heaviest first

    def predicted_s(self, time_gain: float) -> float:
        """The run's time when exchanging takes that share less: at best, since some of it is waiting."""
        return self.wall_s - self.exchange_s * time_gain

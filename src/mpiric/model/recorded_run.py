"""Input of a mapping from a record, apart from the traffic of pairs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CollectiveModel:
    """Calls of a collective on communicators of one size, or the reason why they were ignored."""

    collective: str
    ranks: int  # size of the communicator
    calls: int
    algorithm: str  # "" if the calls were ignored
    source: str  # source of the algorithm's name, or reason why the calls were ignored
    bytes: float  # total bytes sent between ranks


@dataclass(frozen=True)
class RecordedRun:
    """Times of a run, and the algorithms by which its collective calls were converted to pairs."""

    wall_s: float
    exchange_s: float  # time in calls that exchange data, including waiting; mean of the ranks
    exact_bytes: float  # bytes of messages and one-sided transfers
    collectives: tuple[CollectiveModel, ...]  # the heaviest first

    def predicted_s(self, time_gain: float) -> float:
        """Return the run time if the exchange takes this share less; a lower bound, due to waiting times."""
        return self.wall_s - self.exchange_s * time_gain

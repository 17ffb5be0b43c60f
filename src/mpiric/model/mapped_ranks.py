"""Result of a search for a rank order, its predicted effects, and the recorded run it is based on."""

from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.rank_graph import Numbers, RankGraph, Weights

LEAST_GAIN = 0.01  # minimum predicted gain that justifies a changed order


class OrderVerdict(str, Enum):
    """Recommendation on a changed order."""

    GAIN = "gain expected"
    NO_GAIN = "no gain expected"  # no better order was found
    NO_NEED = "no need"  # the order is better, but the predicted time is the same


@dataclass(frozen=True)
class OrderCost:
    """Cost of a rank order."""

    hop_bytes: float  # weight times distance, over ordered pairs
    off_node: float  # bytes sent between nodes
    goal: float  # value of the objective that was minimised
    heaviest_use: float = 0.0  # load of the most loaded node on a shared resource
    time_s: float | None = None  # predicted time of all traffic; None without costs
    busiest: str = ""  # resource that limits the time
    link_loads: Weights | None = None  # bytes over each network link, divided by its speed
    busiest_links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mapped:
    """Rank order and its predicted effects."""

    slots: Numbers
    slots_before: Numbers
    after: OrderCost
    before: OrderCost
    goal: str  # "hop-bytes", "off-node", "worst-link", "nic-messages"
    algorithm: str
    proposals: dict[str, float]  # algorithm → objective of its order divided by the given order's
    seconds: float
    heaviest_slot: int
    capacity: int  # 0: one rank per slot
    costs_source: str = ""  # source of the costs for the predicted time; "" if they are assumed

    @property
    def objective(self) -> float:
        """Return the weighted hop-bytes of the new order."""
        return self.after.hop_bytes

    @property
    def objective_identity(self) -> float:
        """Return the weighted hop-bytes of the given order."""
        return self.before.hop_bytes

    @property
    def gain(self) -> float:
        """Return the share of the objective that the order saves."""
        return _saved(self.before.goal, self.after.goal)

    @property
    def time_gain(self) -> float | None:
        """Return the share of the predicted time of all traffic that the order saves."""
        if self.before.time_s is None or self.after.time_s is None:
            return None
        return _saved(self.before.time_s, self.after.time_s)

    @property
    def verdict(self) -> OrderVerdict:
        """Return the recommendation for this order."""
        is_spread = _saved(self.before.heaviest_use, self.after.heaviest_use) >= LEAST_GAIN
        if is_spread:
            return OrderVerdict.GAIN
        if self.gain < LEAST_GAIN:
            return OrderVerdict.NO_GAIN
        if self.time_gain is not None and self.time_gain < LEAST_GAIN:
            return OrderVerdict.NO_NEED
        return OrderVerdict.GAIN

    @property
    def is_worthwhile(self) -> bool:
        """Return whether a gain can be expected."""
        return self.verdict is OrderVerdict.GAIN


@dataclass(frozen=True)
class OrderProposal:
    """Rank order, with the traffic and the machine it was computed for."""

    mapped: Mapped
    graph: RankGraph
    machine: MachineSlots


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before > 0 else 0.0


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

"""Mapped: an order of ranks that was found, and what it is predicted to change."""

from dataclasses import dataclass
from enum import Enum

from mpiric.model.machine_slots import MachineSlots
from mpiric.model.rank_graph import Numbers, RankGraph, Weights

LEAST_GAIN = 0.01  # a smaller predicted change is not worth a changed order


class OrderVerdict(str, Enum):
    """Whether a changed order is worth a try."""

    GAIN = "gain expected"
    NO_GAIN = "no gain expected"  # no better order was found
    NO_NEED = "no need"  # the order is better, and the predicted time is the same


@dataclass(frozen=True)
class OrderCost:
    """What one order costs."""

    hop_bytes: float  # weight times distance, over ordered pairs
    off_node: float  # what leaves nodes, bytes
    goal: float  # of the objective that was minimised
    heaviest_use: float = 0.0  # of a shared resource, by the node that bears most of it
    time_s: float | None = None  # of all traffic; None where no costs are known
    busiest: str = ""  # what takes that time
    link_loads: Weights | None = None  # of the network's links over their speed, bytes
    busiest_links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mapped:
    """An order and what it changes."""

    slots: Numbers
    given: Numbers
    found: OrderCost
    before: OrderCost
    goal: str  # "hop-bytes", "off-node", "worst-link", "nic-messages"
    algorithm: str
    proposals: dict[str, float]  # by algorithm, what its order costs of what the given one does
    seconds: float
    heaviest_slot: int
    capacity: int  # 0: one rank a slot
    costs_source: str = ""  # of the predicted time; "" where costs are assumed

    @property
    def objective(self) -> float:
        """Weighted hop-bytes of the order found."""
        return self.found.hop_bytes

    @property
    def objective_identity(self) -> float:
        """Weighted hop-bytes of the order given."""
        return self.before.hop_bytes

    @property
    def gain(self) -> float:
        """The share of the objective that the order saves."""
        return _saved(self.before.goal, self.found.goal)

    @property
    def time_gain(self) -> float | None:
        """The share of the predicted time of all traffic that the order saves."""
        if self.before.time_s is None or self.found.time_s is None:
            return None
        return _saved(self.before.time_s, self.found.time_s)

    @property
    def verdict(self) -> OrderVerdict:
        """What can be expected of the order."""
        is_spread = _saved(self.before.heaviest_use, self.found.heaviest_use) >= LEAST_GAIN
        if is_spread:
            return OrderVerdict.GAIN
        if self.gain < LEAST_GAIN:
            return OrderVerdict.NO_GAIN
        if self.time_gain is not None and self.time_gain < LEAST_GAIN:
            return OrderVerdict.NO_NEED
        return OrderVerdict.GAIN

    @property
    def is_worthwhile(self) -> bool:
        """Whether a gain can be expected at all."""
        return self.verdict is OrderVerdict.GAIN


@dataclass(frozen=True)
class OrderProposal:
    """An order, with the traffic and the machine that it was made for."""

    mapped: Mapped
    graph: RankGraph
    machine: MachineSlots


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before > 0 else 0.0

"""Mapped: an order of ranks that was found, and what it is predicted to change."""

from dataclasses import dataclass

from mpiric.model.rank_graph import Numbers

_NO_GAIN = 0.01  # a smaller predicted change is not worth a changed order


@dataclass(frozen=True)
class Mapped:
    """An order and what it changes; weighted hop-bytes over ordered pairs."""

    slots: Numbers
    given: Numbers
    objective: float
    objective_identity: float
    off_node: float
    off_node_identity: float
    algorithm: str
    proposals: dict[str, float]
    seconds: float
    heaviest_slot: int
    capacity: int  # 0: one rank a slot

    @property
    def gain(self) -> float:
        """The share of weighted hop-bytes that the order saves."""
        return 1 - self.objective / self.objective_identity if self.objective_identity > 0 else 0.0

    @property
    def is_worthwhile(self) -> bool:
        """Whether a gain can be expected at all."""
        return self.gain >= _NO_GAIN

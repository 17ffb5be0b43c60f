"""Comparison of two profiles."""

from dataclasses import dataclass

from mpiric.model.profile import Profile

PER_STEP = "time per step"  # quantity: seconds between two calls that count the program's steps


@dataclass(frozen=True, slots=True)
class QuantityChange:
    """Values of one quantity in two profiles."""

    name: str
    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """Return the value after divided by the value before; None if the value before is 0."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences between two profiles."""

    labels: tuple[str, str]
    profiles: tuple[Profile, Profile]
    headline: tuple[QuantityChange, ...]  # run time and efficiencies
    functions: tuple[QuantityChange, ...]  # seconds per rank, the largest difference first
    calls: tuple[QuantityChange, ...]  # functions whose number of calls differs
    sizes: tuple[QuantityChange, ...]  # bytes moved, by message size
    advice_gone: tuple[str, ...]
    advice_new: tuple[str, ...]

"""Comparison: two profiles side by side."""

from dataclasses import dataclass

from mpiric.model.profile import Profile

PER_STEP = "time per step"  # quantity: seconds from one call that counts the program's steps to the next


@dataclass(frozen=True, slots=True)
class QuantityChange:
    """One quantity in both profiles."""

    name: str
    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """The value after over the value before; None where there was nothing before."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from the first profile to the second."""

    labels: tuple[str, str]
    profiles: tuple[Profile, Profile]
    headline: tuple[QuantityChange, ...]  # run time and efficiencies
    functions: tuple[QuantityChange, ...]  # seconds a rank, the largest difference first
    calls: tuple[QuantityChange, ...]  # functions that are called another number of times
    sizes: tuple[QuantityChange, ...]  # bytes moved, by size
    advice_gone: tuple[str, ...]
    advice_new: tuple[str, ...]

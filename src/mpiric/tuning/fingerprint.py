"""Comparison of the fingerprint of a recipe with the current machine, MPI and program."""

from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.recipe import Fingerprint


class Severity(str, Enum):
    """Consequence of a difference for applying the recipe."""

    REFUSE = "refuse"  # the settings have another meaning here, or none
    WARN = "warn"  # the recipe works, but may no longer be the fastest


@dataclass(frozen=True)
class Difference:
    """Field that differs; "" is the value of a missing field."""

    field: str  # part and name: "mpi.version"
    then: str
    now: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.field}: {self.then or 'none'} when tuned, {self.now or 'none'} now"


# Fields whose differences refuse the recipe; all others warn. Settings of one implementation have no meaning
# for another. Another program or launcher is another job.
_REFUSED_FIELDS = {"mpi.implementation", "mpi.abi", "mpi.abi_family", "program.name", "program.launcher"}


def differences(then: Fingerprint, now: Fingerprint) -> tuple[Difference, ...]:
    """Return the fields that differ; differences that refuse the recipe come first."""
    changes: list[Difference] = []
    for part in ("program", "mpi", "machine"):
        before, after = getattr(then, part), getattr(now, part)
        # Fields of the machine that an older recipe does not contain are ignored.
        for name in before if part == "machine" else dict.fromkeys([*before, *after]):
            old, new = before.get(name, ""), after.get(name, "")
            if old == new:
                continue
            field = f"{part}.{name}"
            # Settings are renamed and dropped between major versions of an MPI library.
            other_major = field == "mpi.version" and old.split(".")[0] != new.split(".")[0]
            severity = Severity.REFUSE if field in _REFUSED_FIELDS or other_major else Severity.WARN
            changes.append(Difference(field, old, new, severity))
    return tuple(sorted(changes, key=lambda change: change.severity is Severity.WARN))


def fits(then: Fingerprint, now: Fingerprint) -> float | None:
    """Return minus the number of warnings, so that 0 is the best; None if the recipe must be refused."""
    changes = differences(then, now)
    if any(change.severity is Severity.REFUSE for change in changes):
        return None
    return -float(len(changes))

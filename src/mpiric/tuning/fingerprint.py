"""What a recipe was made for, compared with what is here: each difference named, and how much it matters."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from mpiric.model.recipe import Fingerprint


class Severity(str, Enum):
    """What a difference means for applying the recipe."""

    REFUSE = "refuse"  # its settings have another meaning here, or none
    WARN = "warn"  # it works, and may no longer be the fastest


@dataclass(frozen=True)
class Difference:
    """One field that differs; an empty value stands for "not there"."""

    field: str  # "mpi.version"
    then: str
    now: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.field}: {self.then or 'none'} when tuned, {self.now or 'none'} now"


# Everything else warns. The settings of one implementation mean nothing to another; another program or
# launcher is another job.
_REFUSE = {"mpi.implementation", "mpi.abi", "mpi.abi_family", "program.name", "program.launcher"}


def differences(then: Fingerprint, now: Fingerprint) -> tuple[Difference, ...]:
    """Fields that differ, those that refuse first."""
    found = [
        Difference(
            name,
            before,
            after,
            Severity.REFUSE if name in _REFUSE or _other_major(name, before, after) else Severity.WARN,
        )
        for part in ("program", "mpi", "machine")
        for name, before, after in _fields(part, getattr(then, part), getattr(now, part))
        if before != after
    ]
    return tuple(sorted(found, key=lambda difference: difference.severity is Severity.WARN))


def fits(then: Fingerprint, now: Fingerprint) -> float | None:
    """How well a recipe fits: 0 at the best, lower with every warning; None when it must be refused."""
    found = differences(then, now)
    if any(difference.severity is Severity.REFUSE for difference in found):
        return None
    return -float(len(found))


def _other_major(name: str, before: str, after: str) -> bool:
    """Whether a major version differs: settings are renamed and dropped between such versions."""
    return name == "mpi.version" and before.split(".")[0] != after.split(".")[0]


def _fields(part: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Fields of both; one of the machine that an older recipe does not know says nothing."""
    names = list(before) if part == "machine" else list(dict.fromkeys([*before, *after]))
    return [(f"{part}.{name}", before.get(name, ""), after.get(name, "")) for name in names]

"""Score of an answer of `mpiric tune` when the causes are known: found, missed, superfluous.

A *setting* is written ``knob=value|value``; a *cure* is one or several of them joined by `` + ``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_AS_FAST = 0.01  # time of an answer that the expert's command does not take, at most

Settings = Mapping[str, str]  # knob → value


@dataclass(frozen=True)
class Remedy:
    """Accepted answers to one cause: any of ``cures``. Knobs in ``along`` may accompany a cure."""

    cause: str
    cures: tuple[str, ...]
    along: tuple[str, ...] = ()

    def used(self, settings: Settings) -> list[set[str]]:
        """Return the knobs of each cure whose settings are all present."""
        parsed = [parse_cure(cure) for cure in self.cures]
        return [set(cure) for cure in parsed if holds(cure, settings)]


@dataclass(frozen=True)
class Score:
    """Causes cured and missed by an answer, and its settings that no cause needs."""

    cured: tuple[str, ...]
    missed: tuple[str, ...]
    superfluous: tuple[str, ...]


def parse_cure(text: str) -> dict[str, frozenset[str]]:
    """``eager-node=64KiB|256KiB + network-library=own`` → knob → values that count. Raises ValueError."""
    cure = {}
    for setting in text.split(" + "):
        knob, equals, values = setting.partition("=")
        if not (knob and equals and values):
            raise ValueError(f"{setting!r} must have the form knob=value|value")
        cure[knob] = frozenset(values.split("|"))
    return cure


def holds(cure: Mapping[str, frozenset[str]], settings: Settings) -> bool:
    """Return whether the settings contain every setting of a cure."""
    return all(settings.get(knob) in values for knob, values in cure.items())


def score(settings: Settings, remedies: Sequence[Remedy], indifferent: Sequence[Remedy] = ()) -> Score:
    """Compare an answer with the known causes.

    Each cause excuses the settings of its largest cure in the answer and the knobs of ``along``; a second
    cure of the same cause is superfluous. ``indifferent`` are causes that cost nothing on this machine:
    their cures are neither required nor counted as superfluous.
    """
    excused: set[str] = set()
    cured_causes: list[str] = []
    missed: list[str] = []
    for remedy in (*remedies, *indifferent):
        used = max(remedy.used(settings), key=len, default=None)
        if used is not None:
            excused |= used | set(remedy.along)
        if remedy in remedies:
            (missed if used is None else cured_causes).append(remedy.cause)
    superfluous = tuple(f"{knob}={value}" for knob, value in settings.items() if knob not in excused)
    return Score(tuple(cured_causes), tuple(missed), superfluous)


def is_right(settings: Settings, remedies: Sequence[Remedy]) -> bool:
    """Return whether the settings cure every cause."""
    return all(remedy.used(settings) for remedy in remedies)


def judged(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, corrected where an answer shows more than the table of causes contains.

    A setting that a proof has shown to contribute, of whichever checkout, is not superfluous in that case. No
    cause is missed by an answer that is as fast as the expert's command.
    """
    shown = {
        (row["program"], row["mpi"], knob)
        for row in rows
        for knob, share in row["shares"].items()
        if share and share.get("shown")
    }

    def counts(row: Mapping[str, Any], setting: str) -> bool:
        return (row["program"], row["mpi"], setting.partition("=")[0]) not in shown

    return [
        {
            **row,
            "superfluous": sum(counts(row, setting) for setting in row["superfluous_settings"]),
            "missed": row["missed"] if row["loss"] > _AS_FAST else None,
        }
        for row in rows
    ]

"""What an answer of `mpiric tune` is worth when the causes are known: found, missed, superfluous.

A *setting* is written ``knob=value|value``; a *cure* is one or several of them joined by `` + ``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_AS_FAST = 0.01  # time of an answer that the expert's command does not take, at most

Settings = Mapping[str, str]  # knob → value


@dataclass(frozen=True)
class Remedy:
    """What counts as having found one cause: any of ``cures``. ``along`` are knobs that come with one."""

    cause: str
    cures: tuple[str, ...]
    along: tuple[str, ...] = ()

    def used(self, settings: Settings) -> list[set[str]]:
        """Knobs of each cure that the settings hold as a whole."""
        parsed = [parse_cure(cure) for cure in self.cures]
        return [set(cure) for cure in parsed if holds(cure, settings)]


@dataclass(frozen=True)
class Score:
    """Causes ``found`` and ``missed``, and the settings of the answer that no cause asks for."""

    found: tuple[str, ...]
    missed: tuple[str, ...]
    superfluous: tuple[str, ...]


def parse_cure(text: str) -> dict[str, frozenset[str]]:
    """``eager-node=64KiB|256KiB + network-library=own`` → knob → values that count. Raises ValueError."""
    cure = {}
    for setting in text.split(" + "):
        knob, equals, values = setting.partition("=")
        if not (knob and equals and values):
            raise ValueError(f"{setting!r} is no setting")
        cure[knob] = frozenset(values.split("|"))
    return cure


def holds(cure: Mapping[str, frozenset[str]], settings: Settings) -> bool:
    """Whether every setting of a cure is among the settings."""
    return all(settings.get(knob) in values for knob, values in cure.items())


def score(settings: Settings, remedies: Sequence[Remedy], indifferent: Sequence[Remedy] = ()) -> Score:
    """Compare an answer with what is known.

    Each cause excuses the settings of its largest cure in the answer, and what comes along; a second cure
    of the same cause is superfluous. ``indifferent`` are causes that turned out to cost nothing on this
    machine: what cures them is neither asked for nor counted as superfluous.
    """
    excused: set[str] = set()
    found: list[str] = []
    missed: list[str] = []
    for remedy in (*remedies, *indifferent):
        used = max(remedy.used(settings), key=len, default=None)
        if used is not None:
            excused |= used | set(remedy.along)
        if remedy in remedies:
            (missed if used is None else found).append(remedy.cause)
    rest = tuple(f"{knob}={value}" for knob, value in settings.items() if knob not in excused)
    return Score(tuple(found), tuple(missed), rest)


def is_right(settings: Settings, remedies: Sequence[Remedy]) -> bool:
    """Whether the settings cure every cause."""
    return all(remedy.used(settings) for remedy in remedies)


def judged(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows as they count beside one another, where an answer knows more than the table of causes.

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

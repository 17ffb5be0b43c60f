"""Reader of spec/mpi: the functions of the standard, and the data that the runtime records about each."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPEC = Path(__file__).parents[3] / "spec/mpi"
_NAME = re.compile(r"(\w+)(\[\d*\])*$")


@dataclass(frozen=True)
class Parameter:
    """Parameter: its C declaration and its kind in the standard."""

    declaration: str
    kind: str
    direction: str

    @property
    def name(self) -> str:
        """Name of the parameter, empty for the dots of a variadic function."""
        match = _NAME.search(self.declaration)
        return match[1] if match else ""


@dataclass(frozen=True)
class Function:
    """MPI function according to the specification."""

    name: str
    since: str
    result: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Rule:
    """Recording rule for the functions whose names `match` fits."""

    match: str = ".*"
    class_name: str = "manage"
    timing: str = "always"
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ledger:
    """Functions written by hand (by family) and functions left alone, each with its reason.

    Likewise those whose communicators are substituted by hand or not at all.
    """

    handwritten: dict[str, dict[str, str]]
    not_wrapped: dict[str, str]
    substituted_by_hand: dict[str, str]
    never_substituted: dict[str, str]

    @property
    def by_hand(self) -> frozenset[str]:
        """Every function that some family writes by hand."""
        return frozenset(name for family in self.handwritten.values() for name in family)

    @property
    def not_substituted(self) -> frozenset[str]:
        """Functions whose communicators no generated code substitutes."""
        return frozenset({*self.substituted_by_hand, *self.never_substituted})


def _toml(name: str) -> dict[str, object]:
    return tomllib.loads((SPEC / name).read_text(encoding="utf-8"))


def read_functions() -> list[Function]:
    """Return the functions of the standard and removed ones by name, except those without a wrapper."""
    left_out = read_ledger().not_wrapped
    functions = []
    for name, fields in sorted({**_toml("functions.toml"), **_toml("removed.toml")}.items()):
        since, result, *parameters = fields  # type: ignore[misc,unused-ignore]
        if name in left_out:
            continue
        split = [parameter.rsplit(": ", 1) for parameter in parameters]
        functions.append(
            Function(name, since, result, tuple(Parameter(text, *what.split()) for text, what in split))
        )
    return functions


def read_rules() -> list[Rule]:
    """Return the rules in order; the last one is the default."""
    rules = []
    for entry in _toml("recording.toml")["rule"]:  # type: ignore[attr-defined]
        notes = {key: value for key, value in entry.items() if key not in {"match", "class", "timing"}}
        rules.append(Rule(entry["match"], entry["class"], entry.get("timing", "always"), notes))
    return [*rules, Rule()]


def read_ledger() -> Ledger:
    """The exceptions."""
    data = _toml("exceptions.toml")
    substitution = data["substitution"]
    return Ledger(
        data["handwritten"],  # type: ignore[arg-type]
        data["not_wrapped"],  # type: ignore[arg-type]
        substitution["by_hand"],  # type: ignore[index]
        substitution["kept"],  # type: ignore[index]
    )

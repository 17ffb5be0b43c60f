"""Rules of advice, which are data: read, checked against the numbers there are, applied to a profile.

A rule holds when all its conditions do; a condition compares one derived number with a constant
(``late_receive_share >= 0.2``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mpiric.host.packaged import packaged_names, packaged_table
from mpiric.model.conditions import Condition, parse_condition, quote
from mpiric.model.finding import Finding
from mpiric.model.profile import Advice, Profile
from mpiric.profile.causes import causes_first


@dataclass(frozen=True)
class Rule:
    """One rule; the templates quote numbers as ``{mpi_share:%}`` or ``{ranks:n}``, see `model.conditions`."""

    id: str
    when: tuple[Condition, ...]
    says: str
    evidence: str
    fix: str
    source: str
    gain: str  # the number that bounds what it may save, "" for unknown
    expected: str  # the number that a model gives for it, "" when only a trial can tell
    basis: str  # the model in words
    knobs: tuple[str, ...]
    only: str  # the same for the command: families say it shorter
    apply: str  # KNOB=VALUE to try at once, "" for none
    command: str  # where no knob acts: what shows more
    effect_of: tuple[str, ...]  # rules whose findings bring this one about


@lru_cache
def rules() -> tuple[Rule, ...]:
    """Every rule, from the files of `advice/`, in the order in which they stand there."""
    tables = (packaged_table(f"profile/advice/{name}") for name in packaged_names("profile/advice"))
    return tuple(_rule(row) for table in tables for row in table["rule"])


def _rule(row: Mapping[str, Any]) -> Rule:
    return Rule(
        id=row["id"],
        when=tuple(map(parse_condition, row["when"])),
        says=row["says"],
        evidence=row["evidence"],
        fix=row["fix"],
        source=row["source"],
        gain=row.get("gain", ""),
        expected=row.get("expected", ""),
        basis=row.get("basis", ""),
        knobs=tuple(row.get("knobs", ())),
        only=row.get("only", ",".join(row.get("knobs", ()))),
        apply=row.get("apply", ""),
        command=row.get("command", ""),
        effect_of=tuple(row.get("effect_of", ())),
    )


def advise(profile: Profile) -> tuple[Advice, ...]:
    """What the rules say about a profile: causes before their effects, the most promising first."""
    return advise_on(profile.numbers, profile.command)


def advise_on(numbers: Mapping[str, float], command: str) -> tuple[Advice, ...]:
    """What those rules say of which all numbers are there, in the same order."""
    given = [
        Advice(
            Finding(rule.id, *(quote(text, numbers) for text in (rule.says, rule.evidence, rule.fix))),
            min(1.0, numbers.get(rule.gain, 0.0)) if rule.gain else 0.0,
            _expected(rule, numbers),
            quote(rule.basis, numbers),
            rule.knobs,
            _commands(rule, command or "CMD"),
            rule.source,
        )
        for rule in rules()
        if all(condition.number in numbers and condition.holds(numbers) for condition in rule.when)
    ]
    return causes_first(given, {rule.id: rule.effect_of for rule in rules()})


def _expected(rule: Rule, numbers: Mapping[str, float]) -> float | None:
    """Never more than the bound, where there is one."""
    if not rule.expected:
        return None
    bound = numbers.get(rule.gain, 0.0) if rule.gain else 1.0
    return max(0.0, min(1.0, bound, numbers.get(rule.expected, 0.0)))


def _commands(rule: Rule, command: str) -> tuple[str, ...]:
    """The setting at once; the search that proves what is best; or what shows where to look."""
    at_once = [f"mpiric run --set {rule.apply} -- {command}"] if rule.apply else []
    search = [f"mpiric tune --only {rule.only} -- {command}"] if rule.knobs else []
    more = [rule.command.replace("{command}", command)] if rule.command else []
    return (*at_once, *search, *more)

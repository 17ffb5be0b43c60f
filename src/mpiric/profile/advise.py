"""Rules of advice: read from data files, evaluated on the numbers of a profile.

A rule holds if all its conditions hold; a condition compares a derived number with a constant
(``late_receive_share >= 0.2``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from mpiric.host.packaged import packaged_names, packaged_table
from mpiric.model.amount import Condition, parse_condition, quote
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.profile import Advice, Profile

# Numbers that are shares of MPI_Init, MPI_Finalize and the time between them; other shares leave these out.
_WITH_START_UP = ("start_up_share", "networks_start_share")
_END = "launcher_end_s"
_AROUND = ("launcher_start_s", "program_start_s", _END)  # rest of the run, where it is known


@dataclass(frozen=True)
class Rule:
    """Rule; templates contain numbers as ``{mpi_share:%}`` or ``{ranks:n}``, see `model.conditions`."""

    id: str
    when: tuple[Condition, ...]
    says: str
    evidence: str
    fix: str
    source: str
    only: str  # argument of --only in the command: knobs or families
    gain: str = ""  # number that is an upper bound of the saving; "" if unknown
    expected: str = ""  # number that a model estimates for it; "" without a model
    basis: str = ""  # description of the model
    knobs: tuple[str, ...] = ()
    apply: str = ""  # KNOB=VALUE to try at once; "" if none
    command: str = ""  # command that shows more if no knob acts
    effect_of: tuple[str, ...] = ()  # rules whose findings cause this one


@lru_cache
def rules() -> tuple[Rule, ...]:
    """Return all rules from the files of `advice/`, in file order."""
    tables = (packaged_table(f"profile/advice/{name}") for name in packaged_names("profile/advice"))
    return tuple(_rule(**row) for table in tables for row in table["rule"])


def _rule(
    *, when: Sequence[str], knobs: Sequence[str] = (), effect_of: Sequence[str] = (), **texts: str
) -> Rule:
    texts.setdefault("only", ",".join(knobs))
    conditions = tuple(map(parse_condition, when))
    return Rule(when=conditions, knobs=tuple(knobs), effect_of=tuple(effect_of), **texts)


def advise(profile: Profile) -> tuple[Advice, ...]:
    """Return the advice on a profile: causes before their effects, largest gains first."""
    slow = int(profile.numbers["slow_node_position"])
    place = profile.waiting_place
    names = {
        "slow_node": (*profile.nodes, "")[slow],
        "waiting_place": f"; the work before {place} differs: the others wait there" if place else "",
    }
    return advise_on(profile.numbers, profile.command, names)


def advise_on(
    numbers: Mapping[str, float], command: str, names: Mapping[str, str] | None = None
) -> tuple[Advice, ...]:
    """Return the advice of the rules whose numbers are all known, in the same order.

    ``names`` are further texts in the sentences: the slow node, and the place where ranks wait.
    Gains are shares of the whole run, as far as its length is known.
    """
    values: dict[str, float | str] = {"slow_node": "NODE", "waiting_place": "", **numbers, **(names or {})}
    pieces = [
        Advice(
            Finding(rule.id, *(quote(text, values) for text in (rule.says, rule.evidence, rule.fix))),
            _of_run(rule.gain, numbers),
            _expected(rule, numbers),
            quote(rule.basis, numbers),
            rule.knobs,
            _commands(rule, command or "CMD"),
            rule.source,
        )
        for rule in rules()
        if all(condition.number in numbers and condition.holds(numbers) for condition in rule.when)
    ]
    return causes_first(pieces, {rule.id: rule.effect_of for rule in rules()})


def _of_run(name: str, numbers: Mapping[str, float]) -> float:
    """Return a number that is a share of a part of the run as a share of the whole run; 0 without it."""
    wall_s, start_up = numbers.get("wall_s", 0.0), numbers.get("start_up_share", 0.0)
    part_s = wall_s / (1.0 - start_up) if start_up < 1 else numbers.get("start_up_s", 0.0)
    run_s = part_s + sum(numbers.get(around, 0.0) for around in _AROUND)
    if name in _WITH_START_UP:
        part_s += numbers.get(_END, 0.0)  # without networks the launcher ends sooner as well
    else:
        part_s *= 1.0 - start_up
    return (part_s / run_s if run_s > 0 else 1.0) * max(0.0, min(1.0, numbers.get(name, 0.0)))


def _expected(rule: Rule, numbers: Mapping[str, float]) -> float | None:
    """Return the expected gain, at most its upper bound."""
    if not rule.expected:
        return None
    expected = _of_run(rule.expected, numbers)
    return min(expected, _of_run(rule.gain, numbers)) if rule.gain else expected


def _commands(rule: Rule, command: str) -> tuple[str, ...]:
    """Return commands that apply the setting, search for the best one, or show more."""
    at_once = [f"mpiric run --set {rule.apply} -- {command}"] if rule.apply else []
    search = [f"mpiric tune --only {rule.only} -- {command}"] if rule.knobs else []
    more = [rule.command.replace("{command}", command)] if rule.command else []
    return (*at_once, *search, *more)


def causes_first(pieces: Sequence[Advice], effect_of: Mapping[str, Sequence[str]]) -> tuple[Advice, ...]:
    """Sort advice by gain, causes before their effects; record in each effect the causes that are present.

    A cause inherits the gain of its effects. ``effect_of``: id → ids of possible causes.
    """
    present = {advice.finding.id for advice in pieces}
    causes = {name: tuple(cause for cause in effect_of.get(name, ()) if cause in present) for name in present}
    weight = {advice.finding.id: advice.promise for advice in pieces}
    for name in sorted(present, key=lambda name: -_depth(name, causes)):
        for cause in causes[name]:
            weight[cause] = max(weight[cause], weight[name])
    ordered = sorted(
        pieces, key=lambda advice: (-weight[advice.finding.id], _depth(advice.finding.id, causes))
    )
    return tuple(replace(advice, effect_of=causes[advice.finding.id]) for advice in ordered)


def _depth(name: str, causes: Mapping[str, Sequence[str]]) -> int:
    """Return the length of the longest chain of causes of a finding; rules have no cycles (tested)."""
    return max((1 + _depth(cause, causes) for cause in causes[name]), default=0)

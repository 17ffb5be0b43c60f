"""What is wrong or improvable about the command as it stands, reported before anything is changed."""

from collections.abc import Iterable
from dataclasses import replace

from mpiric import knobs, mpis
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.tuning.search.space import SearchSpace

_WORTH_TELLING = 0.6
_SUGGESTION = "try-"
_CHANGE = "what can change: "


def findings_of(situation: Situation, space: SearchSpace | None = None) -> tuple[Finding, ...]:
    """Inherited settings that do harm, then what the observation calls for, the most promising first.

    With a ``space`` nothing is suggested that is not in it, and knobs with one reason share a finding.
    """
    suggested = []
    dimensions = {dimension.knob: dimension for dimension in space.dimensions} if space else {}
    for name, answer in knobs.to_try(situation).items():
        dimension, knob = dimensions.get(name), knobs.all_knobs()[name]
        values = dimension.values if dimension else () if space else answer.values
        first = [value for value in answer.first if value in values]
        if answer.prior < _WORTH_TELLING or not values or (answer.first and not first):
            continue
        suggested.append(
            Finding(
                id=f"{_SUGGESTION}{name}",
                says=f"{answer.because[:1].upper()}{answer.because[1:]}",
                evidence=f"{_CHANGE}{knob.sentence[:1].lower()}{knob.sentence[1:]}",
                fix=f"try {name} = {' or '.join(first) or 'any'}",
            )
        )
    if space is not None:
        suggested = _joined(suggested)
    foreign = mpis.foreign_settings(situation.inherited, situation.mpi)
    return (*knobs.inherited_problems(situation), *foreign, *suggested)


def _joined(suggested: list[Finding]) -> list[Finding]:
    """Join suggestions of which one's reason begins with the other's; the id then names all knobs."""
    joined: list[Finding] = []
    for finding in suggested:
        for at, earlier in enumerate(joined):
            shorter, longer = sorted((earlier.says, finding.says), key=len)
            if longer.startswith(shorter):
                change = finding.evidence.removeprefix(_CHANGE)
                joined[at] = Finding(
                    id=f"{earlier.id},{finding.id.removeprefix(_SUGGESTION)}",
                    says=longer,
                    evidence=f"{earlier.evidence}; {change}",
                    fix=f"{earlier.fix}, or {finding.fix.removeprefix('try ')}",
                )
                break
        else:
            joined.append(finding)
    return joined


def after_runs(findings: Iterable[Finding], trials: Iterable[Trial]) -> tuple[Finding, ...]:
    """Return the findings; suggestions of a setting name the values that runs have tried."""
    tried: dict[str, dict[str, None]] = {}
    for trial in trials:
        for name, value in trial.configuration.items:
            tried.setdefault(name, {})[value] = None
    reported = []
    for finding in findings:
        if finding.id.startswith(_SUGGESTION):
            fixes = [
                f"tried: {name} = {', '.join(tried[name])}" if name in tried else f"not tried: {name}"
                for name in finding.id.removeprefix(_SUGGESTION).split(",")
            ]
            finding = replace(finding, fix="; ".join(fixes))
        reported.append(finding)
    return tuple(reported)

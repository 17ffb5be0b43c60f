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


def findings_of(situation: Situation, space: SearchSpace | None = None) -> tuple[Finding, ...]:
    """Inherited settings that do harm, then what the observation calls for, the most promising first.

    With a ``space`` nothing is suggested that is not in it.
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
                evidence=f"what can change: {knob.sentence[:1].lower()}{knob.sentence[1:]}",
                fix=f"try {name} = {' or '.join(first) or 'any'}",
            )
        )
    foreign = mpis.foreign_settings(situation.inherited, situation.mpi)
    return (*knobs.inherited_problems(situation), *foreign, *suggested)


def after_runs(findings: Iterable[Finding], trials: Iterable[Trial]) -> tuple[Finding, ...]:
    """Return the findings; suggestions of a setting name the values that runs have tried."""
    tried: dict[str, dict[str, None]] = {}
    for trial in trials:
        for name, value in trial.configuration.items:
            tried.setdefault(name, {})[value] = None
    reported = []
    for finding in findings:
        if finding.id.startswith(_SUGGESTION):
            name = finding.id.removeprefix(_SUGGESTION)
            done = f"tried: {name} = {', '.join(tried[name])}" if name in tried else f"not tried: {name}"
            finding = replace(finding, fix=done)
        reported.append(finding)
    return tuple(reported)

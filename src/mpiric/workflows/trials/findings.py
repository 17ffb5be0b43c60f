"""Findings on the unchanged command, reported before any setting is tried."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mpiric import knobs, mpis
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.statistics.space import SearchSpace

_WORTH_TELLING = 0.6
_SUGGESTION = "try-"


def findings_of(situation: Situation, space: SearchSpace | None = None) -> tuple[Finding, ...]:
    """Return harmful inherited settings, then suggestions from the observation, the most promising first.

    With a ``space``, only its knobs are suggested, and knobs share a finding if the reason of one begins with
    the reason of the other.
    """
    groups: list[tuple[str, list[str]]] = []  # reason and the knobs that it calls for
    values_of: dict[str, list[str]] = {}
    dimensions = {dimension.knob: dimension for dimension in space.dimensions} if space else {}
    for name, answer in knobs.to_try(situation).items():
        dimension = dimensions.get(name)
        values = dimension.values if dimension else () if space else answer.values
        first = [value for value in answer.first if value in values]
        if answer.prior < _WORTH_TELLING or not values or (answer.first and not first):
            continue
        values_of[name] = first
        reason = f"{answer.because[:1].upper()}{answer.because[1:]}"
        for at, (earlier, names) in enumerate(groups if space is not None else ()):
            shorter, longer = sorted((earlier, reason), key=len)
            if longer.startswith(shorter):
                groups[at] = (longer, [*names, name])
                break
        else:
            groups.append((reason, [name]))
    foreign = mpis.foreign_settings(situation.inherited, situation.mpi)
    suggested = (_suggestion(reason, {name: values_of[name] for name in names}) for reason, names in groups)
    return (*knobs.inherited_problems(situation), *foreign, *suggested)


def _suggestion(reason: str, values_of: Mapping[str, Sequence[str]]) -> Finding:
    """Return the finding that suggests knobs, each with the values to try first; empty: any value."""
    sentences = [knobs.knob_named(name).sentence for name in values_of]
    settings = [f"{name} = {' or '.join(first) or 'any'}" for name, first in values_of.items()]
    return Finding(
        id=f"{_SUGGESTION}{','.join(values_of)}",
        says=reason,
        evidence=f"possible change: {'; '.join(f'{text[:1].lower()}{text[1:]}' for text in sentences)}",
        fix=f"try {', or '.join(settings)}",
    )


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

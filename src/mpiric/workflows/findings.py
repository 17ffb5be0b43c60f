"""What is wrong or improvable about the command as it stands, told before anything is changed."""

from mpiric import knobs
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation

_WORTH_TELLING = 0.6


def findings_of(situation: Situation) -> tuple[Finding, ...]:
    """Inherited settings that do harm, then what the observation calls for, the most promising first."""
    suggested = tuple(
        Finding(
            id=f"try-{knob.name}",
            says=f"{knob.sentence} may be worth changing",
            evidence=knob.promise(situation).because,
            fix=f"tried first: {knob.name} = {' or '.join(knob.promise(situation).try_first) or 'any'}",
        )
        for knob in knobs.applicable(situation).values()
        if knob.promise(situation).score >= _WORTH_TELLING
    )
    return (*knobs.inherited_problems(situation), *suggested)

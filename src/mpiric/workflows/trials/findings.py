"""What is wrong or improvable about the command as it stands, reported before anything is changed."""

from mpiric import knobs, mpis
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation

_WORTH_TELLING = 0.6


def findings_of(situation: Situation) -> tuple[Finding, ...]:
    """Inherited settings that do harm, then what the observation calls for, the most promising first."""
    suggested = tuple(
        Finding(
            id=f"try-{knob.name}",
            says=f"{promise.because[:1].upper()}{promise.because[1:]}",
            evidence=f"what can change: {knob.sentence[:1].lower()}{knob.sentence[1:]}",
            fix=f"tried first: {knob.name} = {' or '.join(promise.try_first or knob.values(situation)[:2])}",
        )
        for knob in knobs.applicable(situation).values()
        for promise in [knobs.promise_of(knob, situation)]
        if promise.score >= _WORTH_TELLING
    )
    foreign = mpis.foreign_settings(situation.inherited, situation.mpi)
    return (*knobs.inherited_problems(situation), *foreign, *suggested)

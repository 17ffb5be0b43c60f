"""Trials get the runtime's marks, which tell start-up, main part and end of a run apart."""

from mpiric.host.host import Host
from mpiric.lab.lab import Lab
from mpiric.lab.probes import BetweenMarkers, FileTime
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.narrator import Narrator
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.workflows.trials.original_runs import program_failed
from mpiric.workflows.trials.recorded_runs import recorder_for, runtime_with_marks
from mpiric.workflows.tune.request import TuneRequest

_ORIGINALS = 2  # of the search for an objective that only armed runs have

_COMPARED = (Phase.OBSERVE, Phase.SEARCH, Phase.PROOF)


def arm(request: TuneRequest, lab: Lab, host: Host, narrator: Narrator) -> tuple[Trial, ...]:
    """Have the runs of the proof carry marks, where they can; with the objective ``main`` all that follow.

    The runs of the original that this objective needs. Raises MpiricError where it cannot be had.
    """
    needed = request.objective.text == "main"
    if request.objective.text == "io":
        lab.probes = dict.fromkeys(_COMPARED, FileTime(recorder_for(lab.situation, host)))
        return tuple(_original(request, lab, narrator) for _ in range(_ORIGINALS))
    try:
        library = runtime_with_marks(lab.situation, host)
    except MpiricError as error:
        if not needed:
            return ()
        raise MpiricError(
            f"the time between MPI_Init and MPI_Finalize cannot be taken: {error.message}",
            hint="leave out --objective main",
        ) from error
    if not needed:
        lab.probes = {Phase.PROOF: BetweenMarkers(library=library)}
        return ()
    lab.probes = dict.fromkeys(_COMPARED, BetweenMarkers(library=library))
    return tuple(_original(request, lab, narrator) for _ in range(_ORIGINALS))


def _original(request: TuneRequest, lab: Lab, narrator: Narrator) -> Trial:
    trial = lab.measure(Run(Configuration(), Phase.OBSERVE))
    narrator.trial(trial, None, float("inf"))
    if trial.outcome is not Outcome.OK:
        raise program_failed(request.argv, trial)
    if trial.objective is None:
        raise ProgramFailedError(
            f"a run left no time for the objective {request.objective.text}",
            hint=f"does the program call MPI_Finalize? leave out --objective {request.objective.text}",
        )
    return trial

"""One run of a configuration with the recording runtime in its ranks."""

from dataclasses import replace
from pathlib import Path

from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.host.secrets import masked
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.workflows.trials.recording import Recorded, Recorder, read_recorded
from mpiric.workflows.trials.trials import Trials


def run_recorded(
    trials: Trials,
    situation: Situation,
    configuration: Configuration,
    recorder: Recorder,
    directory: Path,
    limit_s: float | None = None,
    early_end: EarlyEnd | None = None,
) -> Trial:
    """Run it once, in phase RECORD, recording into ``directory``, which is made. Raises OSError."""
    remove_tree(directory)  # left by a run that an interrupted tune did not note
    directory.mkdir(parents=True)
    carried = recorder.spelling(directory.absolute())
    return trials.run(
        situation, configuration, Phase.RECORD, limit_s, carried=carried, early_end=early_end
    ).trial


def recorded_by(trial: Trial, situation: Situation, directory: Path, ran_in: str = "") -> Recorded:
    """What a recorded run in the directory ``ran_in`` has left.

    Raises MpiricError where it failed or left no usable record.
    """
    if trial.outcome is not Outcome.OK:
        raise MpiricError(f"with the recording runtime in its ranks it {trial.reason or 'failed'}")
    recorded = read_recorded(directory.absolute(), sh_command(masked(situation.job.argv)), trial.wall_s)
    return replace(recorded, safe_s=trial.safe_s or 0.0, ran_in=ran_in, ended_unix_s=trial.ended_unix_s)

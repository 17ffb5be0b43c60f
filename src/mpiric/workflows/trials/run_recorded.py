"""One run of a configuration with the recording runtime in its ranks."""

from dataclasses import replace
from pathlib import Path

from mpiric.host.processes.early_end import EarlyEnd
from mpiric.host.secrets import masked
from mpiric.lab.lab import Lab
from mpiric.lab.probes import WholeRun
from mpiric.lab.recording import Recorded, Recorder, read_recorded
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Phase, Trial


def recorded_run(
    configuration: Configuration,
    recorder: Recorder,
    directory: Path,
    limit_s: float | None = None,
    early_end: EarlyEnd | None = None,
) -> Run:
    """Return the run of phase RECORD that records into ``directory``, which is made."""
    probe = WholeRun(recorder, directory, early_end)
    return Run(configuration, Phase.RECORD, limit_s=limit_s, probe=probe)


def recorded_by(trial: Trial, lab: Lab, directory: Path) -> Recorded:
    """Read what the last run of a lab has recorded.

    Raises MpiricError where it failed or left no usable record.
    """
    if trial.outcome is not Outcome.OK:
        raise MpiricError(f"with the recording runtime in its ranks it {trial.reason or 'failed'}")
    command = sh_command(masked(lab.situation.job.argv))
    recorded = read_recorded(directory.absolute(), command, trial.wall_s)
    return replace(
        recorded, safe_s=trial.safe_s or 0.0, ran_in=lab.runs.ran_in, ended_unix_s=trial.ended_unix_s
    )

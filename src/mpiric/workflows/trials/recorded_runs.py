"""Runs with the recording runtime in their ranks: what the program does, in facts.

A run that is recorded takes a little longer, and one that exchanges messages of a few bytes may take a third
longer: these runs are of a phase of their own and compared with no other.
"""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import mpis
from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.host.secrets import masked
from mpiric.lab.lab import Lab
from mpiric.lab.probes import WholeRun
from mpiric.lab.recording import Recorded, Recorder, read_recorded, recorder_of
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command
from mpiric.model.run import Plan, Run
from mpiric.model.situation import Observation, Situation
from mpiric.model.translation import family_above
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.parse_job import program_path

_SWITCH = b"MPIRIC_MARK_OUT"
_PATIENCE, _SLACK_S = 4.0, 10.0  # a recorded run may take so many times as long as an untouched one


def recorder_for(situation: Situation, host: Host) -> Recorder:
    """The recorder for a program whose ranks were seen. Raises MpiricError where nothing can be loaded."""
    if reason := unrecordable(situation.observation):
        raise MpiricError(reason)
    path = program_path(situation.job, host)
    family = (mpis.abi_of_program(host, path) if path else None) or family_above(situation.mpi)
    if family is None:
        raise MpiricError("no runtime fits an MPI library that is not known")
    recorder = recorder_of(situation.job, family)
    if reason := why_not_loadable(situation.job, recorder.library, host):
        raise MpiricError(reason)
    return recorder


def unrecordable(observation: Observation) -> str:
    """Why nothing can be loaded into the ranks that were seen, "" where it can."""
    if not observation.ranks:
        return "no rank was seen"
    if observation.is_dynamic:
        return ""
    return "the program shows no C library (statically linked or setuid), so that nothing can be loaded"


def runtime_with_marks(situation: Situation, host: Host) -> str:
    """Path of the runtime for this program. Raises MpiricError where it cannot carry marks."""
    recorder = recorder_for(situation, host)
    if not read_embedded_texts(recorder.library, _SWITCH):
        raise MpiricError("the runtime of this installation is older than marks")
    return recorder.library


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


@dataclass(frozen=True)
class Recordings:
    """Runs that ended well, what they have left, and why there is no more."""

    trials: tuple[Trial, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    notes: tuple[str, ...] = ()


def record_original(lab: Lab, host: Host, records: Path, runs: int) -> Plan[Recordings]:
    """Run the original ``runs`` times recorded, each into a directory of its own in ``records``.

    The first run that leaves no record, or fails, is the last one: whether the program or the recording
    failed, an untouched run will show.
    """
    shutil.rmtree(records, ignore_errors=True)  # of an interrupted tune
    made: list[Trial] = []
    recorded: list[Recorded] = []
    limit_s = _PATIENCE * lab.situation.observation.wall_s + _SLACK_S
    try:
        recorder = recorder_for(lab.situation, host)
        for _ in range(runs):
            directory = records / f"original-{lab.count + 1}"
            trial = yield recorded_run(Configuration(), recorder, directory, limit_s)
            if trial.outcome is Outcome.OK:
                made.append(trial)
            recorded.append(recorded_by(trial, lab, directory))
    except (MpiricError, OSError) as error:
        why = error.message if isinstance(error, MpiricError) else str(error.strerror)
        return Recordings(tuple(made), tuple(recorded), (not_recorded(why, len(recorded)),))
    return Recordings(tuple(made), tuple(recorded))


def not_recorded(why: str, times: int = 0) -> str:
    """The note of a tune whose command was recorded only so many times."""
    if times:
        return f"the command was recorded {times} times only: {why}"
    return f"what the command does was not recorded, so that every knob that applies is tried: {why}"

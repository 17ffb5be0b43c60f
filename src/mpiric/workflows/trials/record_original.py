"""The original run with the recording runtime in its ranks: what it does, in facts.

A run that is recorded takes a little longer, and one that exchanges messages of a few bytes may take a third
longer: these runs are of a phase of their own and compared with no other.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.host import Host
from mpiric.lab.lab import Lab
from mpiric.lab.recording import Recorded
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.narrator import Narrator
from mpiric.model.trial import Outcome, Trial
from mpiric.workflows.trials.recorder import recorder_for
from mpiric.workflows.trials.run_recorded import recorded_by, recorded_run

_PATIENCE, _SLACK_S = 4.0, 10.0  # a recorded run may take so many times as long as an untouched one


@dataclass(frozen=True)
class Recordings:
    """Runs that ended well, what they have left, and why there is no more."""

    trials: tuple[Trial, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    notes: tuple[str, ...] = ()


def record_original(lab: Lab, host: Host, narrator: Narrator, records: Path, runs: int) -> Recordings:
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
            trial = lab.measure(recorded_run(Configuration(), recorder, directory, limit_s))
            narrator.trial(trial, None, float("inf"))
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

"""Runner that starts nothing: output, duration and files of a launch are data, and its clock is virtual."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.marks_files import INIT_S, marks_file

from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch
from mpiric.model.run import Execution, Outcome
from mpiric.model.situation import RankSeen


@dataclass(frozen=True)
class Behaviour:
    """Behaviour of a run; ``times`` is relative to the original's wall time."""

    times: float = 1.0
    outcome: Outcome = Outcome.OK
    reason: str = ""
    stdout: str | None = None  # None: the output of the original
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # files written into the trial's directory
    memory: float = 1.0  # peak of the largest process, relative to the original's
    start_s: float = 0.0  # time saved in the start-up of the original


FAILS = Behaviour(0.1, Outcome.FAILED, "ended by signal 11")
INTERRUPTED = Behaviour(0.5, Outcome.INTERRUPTED, "stopped by the user")


@dataclass
class ScriptedRunner(Runner):
    """Runner that answers launches by their settings.

    A key of ``settings`` is a knob, or ``knob=text`` for values that contain this text. The behaviours of all
    matching keys combine: times multiply, and the last behaviour that sets another field wins.
    ``nth`` is the behaviour of single runs, by their number from 1, for any settings.
    """

    settings: Mapping[str, Behaviour] = field(default_factory=dict)
    original: Behaviour = field(default_factory=lambda: Behaviour(stdout="energy -42.0625\n"))
    nth: Mapping[int, Behaviour] = field(default_factory=dict)
    wall_s: float = 10.0
    rss_peak_bytes: int = 1 << 30
    ranks: tuple[RankSeen, ...] = ()
    jitter: Sequence[float] = (1.0, 1.001, 0.999, 1.002, 0.998)  # factors of the runs of a launch in turn
    start_s: float = 0.1  # time between the runs
    record: Path | None = None  # record that is copied for each recorded run
    init_s: float = 0.5  # start-up time of the original in runs that leave marks
    now_s: float = 0.0
    launches: list[Launch] = field(default_factory=list)

    def clock(self) -> float:
        """Return the total time of all runs so far, in seconds."""
        return self.now_s

    def close(self) -> None:
        """Do nothing: no process was started."""

    def can_mount(self, mount: object) -> bool:
        """Return False: the runner writes into existing directories."""
        return False

    def execute(  # type: ignore[override]
        self,
        launch: Launch,
        environment: Mapping[str, str],
        workspace: Workspace,
        limit_s: float | None,
        **_: object,
    ) -> Execution:
        """Play one launch according to the script."""
        behaviour = self._behaviour(launch, len(self.launches) + 1)
        turn = self.launches.count(launch) % len(self.jitter)
        wall_s = behaviour.times * self.wall_s * self.jitter[turn]
        self.launches.append(launch)
        if limit_s is not None and wall_s > limit_s:
            behaviour, wall_s = (
                Behaviour(outcome=Outcome.TIMED_OUT, reason=f"took longer than {limit_s:g} s"),
                limit_s,
            )
        self.now_s += self.start_s + wall_s
        Path(workspace.stdout).write_text(behaviour.stdout or "", encoding="utf-8")
        Path(workspace.stderr).write_text(behaviour.stderr, encoding="utf-8")
        for setting in launch.settings:
            if setting.name == "MPIRIC_RECORD_DIR" and self.record:
                shutil.copy(self.record, Path(setting.value) / "record.mpiric")
            if setting.name == "MPIRIC_MARK_OUT":
                self._leave_marks(Path(setting.value), self.init_s - behaviour.start_s, wall_s)
        for name, text in behaviour.files.items():
            Path(workspace.directory, name).write_text(text, encoding="utf-8")
        return Execution(
            behaviour.outcome,
            wall_s,
            0 if behaviour.outcome is Outcome.OK else 1,
            behaviour.reason,
            rss_peak_bytes=int(behaviour.memory * self.rss_peak_bytes),
            ranks=self.ranks,
        )

    def _leave_marks(self, directory: Path, start_s: float, wall_s: float) -> None:
        """Leave marks of a run that was started at 0 of CLOCK_MONOTONIC and ends with MPI_Finalize."""
        begun_s = time.time() - time.monotonic() + start_s - INIT_S
        marks_file(
            directory, world=1, state=2, begun_s=begun_s, finalized_s=wall_s - start_s, has_tables=False
        )

    def _behaviour(self, launch: Launch, number: int) -> Behaviour:
        if number in self.nth:
            return _combined(self.original, self.nth[number])
        combined = self.original
        for key, behaviour in self.settings.items():
            knob, _, text = key.partition("=")
            if any(setting.knob == knob and text in setting.value for setting in launch.settings):
                combined = _combined(combined, behaviour)
        return combined


def _combined(first: Behaviour, other: Behaviour) -> Behaviour:
    return replace(
        other,
        times=first.times * other.times,
        outcome=first.outcome if other.outcome is Outcome.OK else other.outcome,
        reason=other.reason or first.reason,
        stdout=first.stdout if other.stdout is None else other.stdout,
        stderr=other.stderr or first.stderr,
        files={**first.files, **other.files},
        memory=first.memory * other.memory,
        start_s=first.start_s + other.start_s,
    )

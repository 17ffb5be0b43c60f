"""A runner that runs nothing: what each launch prints, takes and leaves is data, and its clock is virtual."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.marks_files import INIT_S, marks_file

from mpiric.host.processes.execution import Runner
from mpiric.model.launch import Launch
from mpiric.model.situation import RankSeen
from mpiric.model.trial import Execution, Outcome


@dataclass(frozen=True)
class Behaviour:
    """How one run goes; ``times`` is relative to the original's wall time."""

    times: float = 1.0
    outcome: Outcome = Outcome.OK
    reason: str = ""
    stdout: str | None = None  # None: what the original prints
    stderr: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # written into the trial's directory
    memory: float = 1.0  # peak of the largest process, relative to the original's
    start_s: float = 0.0  # of the original's start-up, what is saved


FAILS = Behaviour(0.1, Outcome.FAILED, "ended by signal 11")
INTERRUPTED = Behaviour(0.5, Outcome.INTERRUPTED, "stopped by the user")


@dataclass
class ScriptedRunner(Runner):
    """Answers launches by their settings.

    A key of ``settings`` is a knob, or ``knob=text`` for values that are written with this text; the
    behaviours of all that fit combine: times multiply, of the rest the last one that says anything holds.
    ``nth`` is the behaviour of single runs, by their number from 1, whatever their settings.
    """

    settings: Mapping[str, Behaviour] = field(default_factory=dict)
    original: Behaviour = field(default_factory=lambda: Behaviour(stdout="energy -42.0625\n"))
    nth: Mapping[int, Behaviour] = field(default_factory=dict)
    wall_s: float = 10.0
    rss_peak_bytes: int = 1 << 30
    ranks: tuple[RankSeen, ...] = ()
    jitter: Sequence[float] = (1.0, 1.001, 0.999, 1.002, 0.998)  # factors of the runs of a launch in turn
    start_s: float = 0.1  # what surrounds each run
    record: Path | None = None  # what a run that is to record leaves
    init_s: float = 0.5  # start-up of the original, as far as runs leave marks
    now_s: float = 0.0
    launches: list[Launch] = field(default_factory=list)

    def clock(self) -> float:
        """Seconds that all runs so far have taken."""
        return self.now_s

    def close(self) -> None:
        """Nothing was started."""

    def can_mount(self, mount: object) -> bool:
        """No: it writes into directories that are there."""
        return False

    def execute(  # type: ignore[override]
        self,
        launch: Launch,
        environment: Mapping[str, str],
        directory: Path,
        stdout_path: str,
        stderr_path: str,
        limit_s: float | None,
        **_: object,
    ) -> Execution:
        """What the script says of this launch."""
        found = self._behaviour(launch, len(self.launches) + 1)
        turn = self.launches.count(launch) % len(self.jitter)
        wall_s = found.times * self.wall_s * self.jitter[turn]
        self.launches.append(launch)
        if limit_s is not None and wall_s > limit_s:
            found, wall_s = (
                Behaviour(outcome=Outcome.TIMED_OUT, reason=f"took longer than {limit_s:g} s"),
                limit_s,
            )
        self.now_s += self.start_s + wall_s
        Path(stdout_path).write_text(found.stdout or "", encoding="utf-8")
        Path(stderr_path).write_text(found.stderr, encoding="utf-8")
        for setting in launch.settings:
            if setting.name == "MPIRIC_RECORD_DIR" and self.record:
                shutil.copy(self.record, Path(setting.value) / "record.mpiric")
            if setting.name == "MPIRIC_MARK_OUT":
                self._leave_marks(Path(setting.value), self.init_s - found.start_s, wall_s)
        for name, text in found.files.items():
            (directory / name).write_text(text, encoding="utf-8")
        return Execution(
            found.outcome,
            wall_s,
            0 if found.outcome is Outcome.OK else 1,
            found.reason,
            rss_peak_bytes=int(found.memory * self.rss_peak_bytes),
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
        found = self.original
        for key, behaviour in self.settings.items():
            knob, _, text = key.partition("=")
            if any(setting.knob == knob and text in setting.value for setting in launch.settings):
                found = _combined(found, behaviour)
        return found


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

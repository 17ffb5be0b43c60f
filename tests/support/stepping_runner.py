"""Scripted long program with equal steps: its runs are ended early, or end themselves at their marks."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.marks_files import INIT_S, doubles, marks_file
from tests.support.paces import key, key_pace, steps
from tests.support.records import rank, record
from tests.support.scripted_runner import Behaviour, ScriptedRunner

from mpiric.host.processes import request
from mpiric.host.processes.execution import Workspace
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.directory_runs import Recorded
from mpiric.model.job import Launch
from mpiric.model.run import Execution, Outcome
from mpiric.profile.analyse import analyse
from mpiric.workflows.trials import recorded_runs, step_markers

STEP = key("MPI_Allreduce", "lmp+0x48f2", ranks=2)
SEEN_STEPS = 400  # number of steps before a recorded run is ended


@dataclass(frozen=True)
class Steps(Behaviour):
    """Behaviour of the steps before the mark."""

    calls: int = 20  # number of MPI calls per step
    result: float = 1.5
    comes: bool = True  # whether the run reaches its last mark


@dataclass
class SteppingRunner(ScriptedRunner):
    """``wall_s`` is the time of a complete run, ``step_s`` of a step; every 100th step prints a line."""

    step_s: float = 0.05
    wall_s: float = 3600.0
    odd: Mapping[str, Steps] = field(default_factory=dict)  # knob → behaviour of the steps before the mark
    even: bool = True  # whether all steps take the same time
    is_seen_whole: bool = False  # whether the recorded run is so short that it is complete
    flags: int = 0  # flags of the marks files

    def execute(  # type: ignore[override]
        self,
        launch: Launch,
        environment: Mapping[str, str],
        workspace: Workspace,
        limit_s: float | None,
        early_end: EarlyEnd | None = None,
        **options: object,
    ) -> Execution:
        """Play one launch according to the script, up to its early end."""
        values = {setting.name: setting.value for setting in launch.settings}
        whole_s, behaviour = self.wall_s, self._behaviour(launch, len(self.launches) + 1)
        if early_end is None or not values.keys() & self._ends_at_steps:
            begun_s = self.now_s
            executed = super().execute(launch, environment, workspace, limit_s)
            return executed if early_end is None else self._asked(executed, begun_s, early_end)
        last = int(values["MPIRIC_MARK"].rpartition(",")[2]) if "MPIRIC_MARK" in values else SEEN_STEPS
        turn = self.launches.count(launch) % len(self.jitter)
        pace_s = self.step_s * behaviour.times * self.jitter[turn]
        start_s = self.init_s - behaviour.start_s
        self.wall_s = (start_s + last * pace_s) / (behaviour.times * self.jitter[turn])
        odd = next((self.odd[s.knob] for s in launch.settings if s.knob in self.odd), Steps())
        text = "".join(f"step {number} energy -1.5\n" for number in range(0, last, 100))
        original, self.original = self.original, replace(self.original, stdout=text)
        executed = super().execute(launch, environment, workspace, limit_s)
        self.wall_s, self.original = whole_s, original
        if executed.outcome is not Outcome.OK or not odd.comes:
            return executed
        if "MPIRIC_MARK" in values:
            first = int(values["MPIRIC_MARK"].rpartition(":")[2].partition(",")[0])
            self._leave_steps(Path(values["MPIRIC_MARK_OUT"]), start_s, pace_s, first, last, odd)
        return replace(executed, came_early="MPIRIC_MARK" in values or not self.is_seen_whole)

    @property
    def _ends_at_steps(self) -> set[str]:
        return {"MPIRIC_MARK", "MPIRIC_RECORD_DIR"} if self.even else {"MPIRIC_MARK"}

    def take_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make mpiric use this runner's clock and the records of this runner."""
        monkeypatch.setattr(recorded_runs, "read_recorded", self.recorded)
        for module in (request, step_markers):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=self.clock))

    def _asked(self, executed: Execution, begun_s: float, early_end: EarlyEnd) -> Execution:
        """Let the time of a run pass again, and end the run when it is due."""
        ended_s = self.now_s
        for part in range(1, 2001):
            self.now_s = begun_s + part / 2000 * (ended_s - begun_s)
            if early_end.is_due():
                return replace(executed, wall_s=self.now_s - begun_s, came_early=True)
        return executed

    def _leave_steps(
        self, directory: Path, start_s: float, pace_s: float, first: int, last: int, odd: Steps
    ) -> None:
        for path in directory.glob("*.marks"):
            path.unlink()
        pace = key_pace(STEP, steps(last, pace_s, pace_s))
        for number in (0, 1):
            marks_file(
                directory,
                number,
                flags=self.flags,
                begun_s=time.time() - time.monotonic() + start_s - INIT_S,
                crossings=(
                    (first * pace_s, first * odd.calls, first << 10),
                    (last * pace_s, last * odd.calls, last << 10),
                ),
                times_s=pace.times_s,
                stride=pace.stride,
                results=(doubles(odd.result, results=last, digest=round(1000 * odd.result)),),
            )

    def recorded(self, directory: Path, _: str, run_s: float) -> Recorded:
        """Return the record of a recorded run, instead of files written by the runtime."""
        at_s = steps(SEEN_STEPS, self.step_s, self.step_s)
        late = [at_s[-1] * (number / SEEN_STEPS) ** 0.2 for number in range(SEEN_STEPS)]
        paces = (key_pace(STEP, at_s if self.even else late),)
        recorded_run = record(*(rank(number, at_s[-1], pace=paces) for number in (0, 1)))
        return Recorded(directory, recorded_run, analyse(recorded_run, "lmp"), run_s)

"""A long program of equal steps, by a script: its runs are ended early, or end themselves at their marks."""

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

from mpiric.host.processes import early_end
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.lab.recording import Recorded
from mpiric.model.launch import Launch
from mpiric.model.trial import Execution, Outcome
from mpiric.profile.analyse import analyse
from mpiric.workflows.trials import learn_marks, recorded_runs

STEP = key("MPI_Allreduce", "lmp+0x48f2", ranks=2)
SEEN_STEPS = 400  # before the run that is recorded is ended


@dataclass(frozen=True)
class Steps(Behaviour):
    """What a setting does to the steps before the mark."""

    calls: int = 20  # of each step
    result: float = 1.5
    comes: bool = True  # to its last mark


@dataclass
class SteppingRunner(ScriptedRunner):
    """``wall_s`` is of a run to its end; ``step_s`` of each step, one line of output a step of hundred."""

    step_s: float = 0.05
    wall_s: float = 3600.0
    odd: Mapping[str, Steps] = field(default_factory=dict)  # knob → what it does before the mark
    even: bool = True  # whether its steps come evenly
    is_seen_whole: bool = False  # the run that is recorded has so few steps that it comes to its end
    flags: int = 0  # of what ranks leave at their marks

    def execute(  # type: ignore[override]
        self,
        launch: Launch,
        environment: Mapping[str, str],
        directory: Path,
        stdout_path: str,
        stderr_path: str,
        limit_s: float | None,
        early_end: EarlyEnd | None = None,
        **options: object,
    ) -> Execution:
        """What the script says of this launch, to its early end."""
        values = {setting.name: setting.value for setting in launch.settings}
        whole_s, found = self.wall_s, self._behaviour(launch, len(self.launches) + 1)
        if early_end is None or not values.keys() & self._ends_at_steps:
            begun_s = self.now_s
            executed = super().execute(launch, environment, directory, stdout_path, stderr_path, limit_s)
            return executed if early_end is None else self._asked(executed, begun_s, early_end)
        last = int(values["MPIRIC_MARK"].rpartition(",")[2]) if "MPIRIC_MARK" in values else SEEN_STEPS
        turn = self.launches.count(launch) % len(self.jitter)
        pace_s = self.step_s * found.times * self.jitter[turn]
        start_s = self.init_s - found.start_s
        self.wall_s = (start_s + last * pace_s) / (found.times * self.jitter[turn])
        odd = next((self.odd[s.knob] for s in launch.settings if s.knob in self.odd), Steps())
        text = "".join(f"step {number} energy -1.5\n" for number in range(0, last, 100))
        original, self.original = self.original, replace(self.original, stdout=text)
        executed = super().execute(launch, environment, directory, stdout_path, stderr_path, limit_s)
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
        """Have the product read this runner's clock, and what its recorded runs leave."""
        monkeypatch.setattr(recorded_runs, "read_recorded", self.recorded)
        for module in (early_end, learn_marks):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=self.clock))

    def _asked(self, executed: Execution, begun_s: float, early_end: EarlyEnd) -> Execution:
        """Go through a run again, and end it when it is due to end."""
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
        kept = key_pace(STEP, steps(last, pace_s, pace_s))
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
                times_s=kept.times_s,
                stride=kept.stride,
                results=(doubles(odd.result, results=last, digest=round(1000 * odd.result)),),
            )

    def recorded(self, directory: Path, _: str, run_s: float) -> Recorded:
        """What the run that is recorded leaves, instead of the files that the runtime would have written."""
        at_s = steps(SEEN_STEPS, self.step_s, self.step_s)
        late = [at_s[-1] * (number / SEEN_STEPS) ** 0.2 for number in range(SEEN_STEPS)]
        paces = (key_pace(STEP, at_s if self.even else late),)
        found = record(*(rank(number, at_s[-1], pace=paces) for number in (0, 1)))
        return Recorded(directory, found, analyse(found, "lmp"), run_s)

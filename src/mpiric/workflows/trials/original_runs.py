"""Runs of the unchanged command, as many as fit into the budget."""

from dataclasses import field
from math import inf
from pathlib import Path
from statistics import median_low

from mpiric.host.processes.early_end import EarlyEnd, after
from mpiric.host.secrets import masked
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.budget import Budget
from mpiric.workflows.trials.recorded_runs import Recordings

_MORE_TIME = (
    "a larger --budget (a proof takes some twenty runs), a smaller input, --mark for a call of each step, "
    "or --to-the-end, which stops no run"
)
_PATIENCE, _SLACK_S = 4.0, 5.0  # limit of a run: factor of the longest run before it, plus slack
_MOST_FAILURES = 3  # failures in a row
_FEWEST = 2  # complete runs needed to compare outputs; further runs take at most half of the budget
_SHARE = 0.5
_DISTURBED = 1.3  # time relative to the quickest run, above which a run was disturbed
DISTURBED_RUNS = 2  # further runs if one was disturbed


@dataclass
class OriginalRuns:
    """The runs so far; without a ``budget`` their number is not limited."""

    argv: tuple[str, ...]
    budget: Budget | None
    untouched_runs: list[Trial] = field(default_factory=list)  # complete or ended early
    recorded: Recordings = field(default_factory=Recordings)

    @property
    def whole(self) -> tuple[Trial, ...]:
        """Return the complete runs, untouched ones first."""
        return (*self._untouched, *self.recorded.trials)

    @property
    def has_whole_untouched(self) -> bool:
        """Return whether an untouched run was complete."""
        return bool(self._untouched)

    @property
    def wall_s(self) -> float:
        """Return the duration of a run: of two the faster one, as disturbances only make a run slower.

        If all runs ended early, the longest of them is a lower bound.
        """
        if runs := self._untouched or self.recorded.trials:
            return median_low(trial.wall_s for trial in runs)
        return max(trial.wall_s for trial in self.untouched_runs)

    @property
    def is_disturbed(self) -> bool:
        """Return whether untouched runs differ so much in time that another load must have disturbed one."""
        walls = [trial.wall_s for trial in self._untouched]
        return len(walls) > 1 and sorted(walls)[len(walls) // 2] > _DISTURBED * min(walls)

    @property
    def _untouched(self) -> list[Trial]:
        return [trial for trial in self.untouched_runs if not trial.came_early]

    def that_fit(self, limit: int) -> int:
        """Return how many more runs the budget allows, up to ``limit`` complete ones.

        Runs beyond the fewest leave half of the budget to other configurations.
        """
        missing = max(0, limit - len(self.whole))
        if self.budget is None or self.budget.seconds is None or not missing:
            return missing
        run_s, left_s = max(self.wall_s, 1e-9), self.budget.remaining_s
        needed = min(max(0, _FEWEST - len(self.whole)), int(left_s / run_s))
        return min(missing, max(needed, int((left_s - (1 - _SHARE) * self.budget.seconds) / run_s)))

    def add(self, more: Recordings) -> None:
        """Add recorded runs."""
        old = self.recorded
        self.recorded = Recordings(
            (*old.trials, *more.trials), (*old.recorded, *more.recorded), (*old.notes, *more.notes)
        )

    def untouched(self, early_end: EarlyEnd | None = None) -> Plan[Trial]:
        """Make an untouched run; repeat it if it fails after others have worked.

        Raises ProgramFailedError, with the end of the output, if the unchanged command fails.
        """
        longest_s = max((trial.wall_s for trial in self.whole), default=None)
        limit_s = None if longest_s is None else _PATIENCE * longest_s + _SLACK_S
        probe = WholeRun(early_end=early_end) if early_end else None
        for failures in range(1, _MOST_FAILURES + 1):
            trial = yield Run(Configuration(), Phase.OBSERVE, limit_s=limit_s, observe=True, probe=probe)
            if trial.outcome is Outcome.OK:
                break
            if limit_s is None or failures == _MOST_FAILURES:
                raise program_failed(self.argv, trial)
        self.untouched_runs.append(trial)
        return trial

    def to_the_end(self, marks_why: str = "") -> Plan[None]:
        """Make a complete run within the budget. Raises MpiricError if the budget ends before the run.

        ``marks_why`` is the reason why runs cannot end at a step marker.
        """
        left_s = inf if self.budget is None else self.budget.remaining_s
        if left_s > 0:
            trial = yield from self.untouched(None if left_s == inf else after(left_s))
            if not trial.came_early:
                return
        assert self.budget is not None
        why = f", and runs cannot end at a mark: {marks_why}" if marks_why else ""
        raise MpiricError(
            f"a run of the command was stopped when the budget of {self.budget.seconds:g} s was spent, "
            f"so how long it takes is not known{why}",
            hint=_MORE_TIME,
        )


def program_failed(argv: tuple[str, ...], trial: Trial) -> ProgramFailedError:
    """Return the error for an unchanged command that fails, with the end of its output."""
    printed = _tail(trial.stderr) or _tail(trial.stdout)
    end = f"; it printed:\n{printed}" if printed else "; it printed nothing"
    return ProgramFailedError(
        f"the command does not work as it stands: {' '.join(masked(argv))} {trial.reason or 'failed'}{end}",
        hint="make the command work without mpiric first; mpiric changes nothing in this first run",
    )


def _tail(path: str, most_lines: int = 15) -> str:
    try:
        text = Path(path).read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-most_lines:])

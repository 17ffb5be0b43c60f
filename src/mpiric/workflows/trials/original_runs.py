"""Runs of the unchanged command, as many of them as the budget has room for."""

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median_low

from mpiric.host.processes.early_end import EarlyEnd, after
from mpiric.host.secrets import masked
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.run import Plan, Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.tuning.budget import Budget
from mpiric.workflows.trials.recorded_runs import Recordings

_MORE_TIME = (
    "a larger --budget (a proof takes some twenty runs), a smaller input, --mark for what counts its steps, "
    "or --to-the-end, which stops no run"
)
_PATIENCE, _SLACK_S = 4.0, 5.0  # limit of a run: factor of the longest run before it, plus slack
_MOST_FAILURES = 3  # failures in a row
_FEWEST = 2  # whole runs that outputs are compared with; more may take no more than half of the budget
_SHARE = 0.5
_DISTURBED = 1.3  # times the quickest run: no program varies so much by itself
DISTURBED_RUNS = 2  # more of them, where one was disturbed


@dataclass
class OriginalRuns:
    """The runs so far; without a ``budget`` there is room for any."""

    argv: tuple[str, ...]
    budget: Budget | None
    seen: list[Trial] = field(default_factory=list)  # untouched ones, whole or ended early
    recorded: Recordings = field(default_factory=Recordings)

    @property
    def whole(self) -> tuple[Trial, ...]:
        """Runs that went to their end, untouched ones first."""
        return (*self._untouched, *self.recorded.trials)

    @property
    def has_whole_untouched(self) -> bool:
        """Whether a run that was not recorded went to its end."""
        return bool(self._untouched)

    @property
    def wall_s(self) -> float:
        """How long a run takes: of two the faster, as others can only make a run slower.

        Where all were ended early, it takes at least as long as the longest of them.
        """
        if runs := self._untouched or self.recorded.trials:
            return median_low(trial.wall_s for trial in runs)
        return max(trial.wall_s for trial in self.seen)

    @property
    def is_disturbed(self) -> bool:
        """Return whether untouched runs differ so much in time that another load must have disturbed one."""
        walls = [trial.wall_s for trial in self._untouched]
        return len(walls) > 1 and sorted(walls)[len(walls) // 2] > _DISTURBED * min(walls)

    @property
    def _untouched(self) -> list[Trial]:
        return [trial for trial in self.seen if not trial.came_early]

    def that_fit(self, wanted: int) -> int:
        """Return how many more runs the budget allows, up to ``wanted`` whole ones.

        Runs beyond the fewest leave half of the budget to other configurations.
        """
        missing = max(0, wanted - len(self.whole))
        if self.budget is None or self.budget.seconds is None or not missing:
            return missing
        run_s, left_s = max(self.wall_s, 1e-9), self.budget.remaining_s
        needed = min(max(0, _FEWEST - len(self.whole)), int(left_s / run_s))
        return min(missing, max(needed, int((left_s - (1 - _SHARE) * self.budget.seconds) / run_s)))

    def add(self, more: Recordings) -> None:
        """Count recorded runs among them."""
        mine = self.recorded
        self.recorded = Recordings(
            (*mine.trials, *more.trials), (*mine.recorded, *more.recorded), (*mine.notes, *more.notes)
        )

    def untouched(self, early_end: EarlyEnd | None = None) -> Plan[Trial]:
        """Make a run that is not recorded; repeat a run that fails after others have worked.

        Raises ProgramFailedError, with the program's last words, when it does not work as it stands.
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
        self.seen.append(trial)
        return trial

    def to_the_end(self, marks_why: str = "") -> Plan[None]:
        """Make one for as long as the budget lasts. Raises MpiricError when it is over before the run is.

        ``marks_why`` says why runs cannot end at a mark.
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
    """The error for a command that does not work unchanged, with the end of what it printed."""
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

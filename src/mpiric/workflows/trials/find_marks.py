"""Marks of a program that is too long for whole runs: found in one run of it, fixed by runs that end there.

The first run is recorded, and ended as soon as some call comes evenly enough to count the program's steps.
Then runs of the original end at the mark that was chosen: it is one if all of them had done the same work.
"""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.narrator import Narrator
from mpiric.model.pace import KeyPace, RunPace
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_file
from mpiric.tuning.marks.agreement import disagreement
from mpiric.tuning.marks.choice import MarkChoice, choose_key, with_own_places
from mpiric.tuning.marks.window import MarkWindow, choose_window
from mpiric.workflows.trials.arming import Arming, runtime_with_marks
from mpiric.workflows.trials.mark_judge import crossings
from mpiric.workflows.trials.recording import Recorded, recorder_for
from mpiric.workflows.trials.run_recorded import recorded_by, run_recorded
from mpiric.workflows.trials.trials import TrialResult, Trials

WHOLE_RUNS = 40  # that fit into a budget: then runs are whole
_ORIGINALS = 3  # that end at the mark
_LEAST_SEEN_S = 2.0
_LOOK_EVERY_S = 0.5
_PATIENCE, _SLACK_S = 10.0, 30.0  # a run to the mark may take so many times as long as the first one


@dataclass(frozen=True)
class MarkWishes:
    """What the user asks of marks."""

    budget_s: float
    after_s: float = 0.0  # no mark before this time of the run
    fixed: tuple[MarkPair, MarkWindow, str] | None = None  # by an interrupted tune, and why

    @property
    def long_s(self) -> float:
        """Length from which on runs are not whole."""
        return self.budget_s / WHOLE_RUNS


@dataclass(frozen=True)
class FoundMarks:
    """Marks that runs of the original agree on, and these runs."""

    pair: MarkPair
    window: MarkWindow
    why: str
    originals: tuple[Trial, ...]
    left: tuple[RunMarks, ...] = field(repr=False)  # what each of them left
    recorded: Recorded | None = None  # of the run that they were found in


class NoMarksError(MpiricError):
    """The program has no marks; it says why."""


def find_marks(
    trials: Trials, situation: Situation, host: Host, narrator: Narrator, records: Path, wishes: MarkWishes
) -> FoundMarks:
    """Find the marks of a program and arm the trials with them. Raises NoMarksError."""
    try:
        library = runtime_with_marks(situation, host)
    except MpiricError as error:
        raise NoMarksError(error.message) from error
    narrator.say("longer than a run may be: looking for the calls that count its steps")
    recorded = None
    if wishes.fixed is not None:
        pair, window, why = wishes.fixed
    else:
        recorded, choice, window = _learn(trials, situation, host, records, wishes)
        assert choice.key is not None
        pair = MarkPair(choice.key, window.first, window.last, on_rank_0_alone=choice.on_rank_0_alone)
        why = choice.why
    for _ in range(2):
        trials.arming = Arming(library, frozenset({Phase.OBSERVE}), pair, ends=True)
        results = _originals(trials, situation, narrator, window)
        left = [result.marks for result in results if result.marks is not None]
        if different := disagreement([crossings(marks, pair) for marks in left]):
            raise NoMarksError(f"its steps are not the same work in every run: {different}")
        judged = choose_window(
            [_of_first_rank(marks, pair) for marks in left], wishes.budget_s, wishes.after_s
        )
        if wishes.fixed or judged is None or judged.first <= pair.first + (pair.last - pair.first) // 10:
            break
        # All runs together show a transient that the first alone did not.
        length = pair.last - pair.first
        pair = replace(pair, first=judged.first, last=judged.first + length)
        window = replace(window, first=pair.first, last=pair.last)
    originals = tuple(result.trial for result in results)
    phases = frozenset({Phase.OBSERVE, Phase.SEARCH, Phase.PROOF})
    trials.arming = Arming(library, phases, pair, ends=True)
    return FoundMarks(pair, window, why, originals, tuple(left), recorded)


def _learn(
    trials: Trials, situation: Situation, host: Host, records: Path, wishes: MarkWishes
) -> tuple[Recorded, MarkChoice, MarkWindow]:
    """Record a run until a mark will do, or to its end."""
    directory = records / f"steps-{trials.count + 1}"
    watch = _Watch(directory, wishes, time.monotonic())
    early = EarlyEnd(watch.will_do, every_s=_LOOK_EVERY_S)
    recorder = recorder_for(situation, host)
    trial = run_recorded(trials, situation, Configuration(), recorder, directory, early_end=early)
    try:
        recorded = recorded_by(trial, situation, directory)
    except MpiricError as error:
        raise NoMarksError(error.message) from error
    pace = with_own_places(run_pace(recorded.record))
    choice = choose_key(pace)
    window = _window(pace, choice, wishes)
    if window is None:
        raise NoMarksError(choice.why if choice.key is None else "too few of its steps were seen")
    return recorded, choice, window


@dataclass
class _Watch:
    """Looks at rank 0's record while it grows."""

    directory: Path
    wishes: MarkWishes
    begun_s: float

    def will_do(self) -> bool:
        """Whether what was seen holds a mark, and a window behind it."""
        if time.monotonic() - self.begun_s < max(_LEAST_SEEN_S, self.wishes.long_s):
            return False
        for path in self.directory.glob("rank-0.*.part"):
            try:
                pace = with_own_places(run_pace(read_file(path)))
            except MpiricError:
                continue  # it is being written
            return _window(pace, choose_key(pace), self.wishes) is not None
        return False


def _window(pace: RunPace, choice: MarkChoice, wishes: MarkWishes) -> MarkWindow | None:
    first = pace.first_rank
    calls = first.of(choice.key) if first is not None and choice.key is not None else None
    return choose_window([calls], wishes.budget_s, wishes.after_s) if calls else None


def _originals(
    trials: Trials, situation: Situation, narrator: Narrator, window: MarkWindow
) -> list[TrialResult]:
    """Run the original to the mark a few times. Raises NoMarksError when a run does not end there."""
    results: list[TrialResult] = []
    for _ in range(_ORIGINALS):
        limit_s = _PATIENCE * window.last_s + _SLACK_S
        result = trials.run(situation, Configuration(), Phase.OBSERVE, limit_s, observe=True)
        narrator.trial(result.trial, None, float("inf"))
        trial = result.trial
        if trial.outcome is not Outcome.OK:
            raise NoMarksError(f"a run that was to end at the mark {trial.reason or 'failed'}")
        if result.marks is None or trial.split is None or trial.split.per_mark_s is None:
            raise NoMarksError("a run did not come to the mark")
        if result.marks.missing:
            raise NoMarksError(f"{len(result.marks.missing)} of its ranks left no marks")
        results.append(result)
    return results


def _of_first_rank(marks: RunMarks, pair: MarkPair) -> KeyPace:
    first = marks.ranks[0]
    return KeyPace(pair.key, first.calls, first.stride, first.times_s)

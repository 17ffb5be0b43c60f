"""Step markers of a program: found in one run of the original, and logged, since they hold for all runs.

MPI calls are preferred. Output lines serve as markers if the program makes few calls, or if nothing can be
loaded into its ranks. A marker that the user has named is the only candidate.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median

from mpiric.host.host import Host
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.directory_runs import Recorded
from mpiric.lab.lab import Lab
from mpiric.lab.output_follower import EVERY_S, OutputFollower, choose_printed, marks_per_line, printed_pace
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.json_text import read_fields
from mpiric.model.pace import KeyPace, MarkKey, MarkPair, RunPace
from mpiric.model.run import Outcome, Phase, Plan, Run, Split, Trial
from mpiric.profile.pace import modules_of, run_pace
from mpiric.profile.read import read_file
from mpiric.profile.sites import name_places
from mpiric.profile.stuck import stuck_advice
from mpiric.statistics.step_window import MarkWindow, choose_window, window_of
from mpiric.tuning.events import AMENDED, TuneEvents
from mpiric.tuning.mark_choice import (
    MarkChoice,
    NamedMark,
    at_any_size,
    choose_key,
    choose_named,
    mark_name,
    without_key,
    without_library_places,
)
from mpiric.tuning.mark_split import marks_of
from mpiric.tuning.store import TuneLog
from mpiric.workflows.trials.last_look import look_at_ranks
from mpiric.workflows.trials.recorded_runs import (
    recorded_by,
    recorded_run,
    recorder_for,
    runtime_with_marks,
)

_EVENT = "marks"


@dataclass(frozen=True)
class StepMarkers:
    """Two step markers between which runs are compared, the reason for them, and the runs that show them."""

    pair: MarkPair
    window: MarkWindow
    why: str
    whole_marks: int | None = None  # number of markers in a complete run; None: unknown
    recorded: Recorded | None = None  # record of the run in which they were found
    why_unrecorded: str = ""
    originals: tuple[Trial, ...] = ()  # runs of the original that end at the last one and agree

    def marks_of_length(self, length_s: float) -> float:
        """Return the number of markers in a run of the original of this length."""
        splits = [trial.split for trial in self.originals if trial.split]
        start_s = median(split.start_s for split in splits)
        per_mark_s = median(split.per_mark_s or 0.0 for split in splits)
        return marks_of(Split(start_s, per_mark_s=per_mark_s), length_s)


def keep_marks(log: TuneLog, marks: StepMarkers, originals: Iterable[Trial] = ()) -> None:
    """Log the step markers of a tune, and their number in a complete run if it is known.

    ``originals`` are runs that ended before the markers were fixed; their objectives are logged as well.
    """
    length = {} if marks.whole_marks is None else {"whole_marks": marks.whole_marks}
    pair, window = asdict(marks.pair), asdict(marks.window)
    log.append(_EVENT, {"pair": pair, "window": window, "why": marks.why, **length})
    for trial in originals:
        log.append(AMENDED, {"number": trial.number, "objective": trial.objective})


def kept_marks(log: TuneEvents) -> StepMarkers | None:
    """Return the logged step markers; None for complete runs or another version."""
    event = next(iter(log.named(_EVENT)[::-1]), {})
    try:
        pair, window = read_fields(MarkPair, event.get("pair")), read_fields(MarkWindow, event.get("window"))
    except ValueError:
        return None
    if not (1 <= pair.first < pair.last and window.first < window.last and window.first_s < window.last_s):
        return None
    count = event.get("whole_marks")
    whole_marks = count if isinstance(count, int) and count > 0 else None
    return StepMarkers(pair, window, str(event.get("why", "")), whole_marks)


WHOLE_RUNS = 40  # number of complete runs in the budget from which on all runs are complete
_LEAST_SEEN_S = 2.0
_LOOK_EVERY_S = 0.5
_CONFIRMED = 1.4  # times as long as until something was found that counts steps, it has to be seen
_STEADY = 0.1  # growth of the steps below which no longer look is needed
_LONGEST_LOOK = 4.0  # times the shortest, where steps are growing or shrinking
_LOOK_SHARE = 0.15  # share of the budget after which a look ends with the first counter
_END_SHARE = 0.1  # share of the budget for which the end is waited for: the length is known then
_MOST = 0.5  # share of a whole run above which a run to the mark saves too little
_STEEPEST = 2.0  # growth of the steps over what was seen, above which a call does not count them


@dataclass(frozen=True)
class MarkOptions:
    """Options for step markers."""

    budget_s: float
    after_s: float = 0.0  # earliest time of a marker in a run
    length_s: float | None = None  # duration of the production run to forecast
    named: NamedMark | None = None  # marker of --mark
    fixed: StepMarkers | None = None  # markers of an interrupted tune or a baseline
    required: bool = False  # complete runs would be useless
    any_size: bool = False  # the marker has to count the same steps with other numbers of ranks

    @property
    def long_s(self) -> float:
        """Return the duration above which runs end at a marker."""
        return self.budget_s / WHOLE_RUNS


class NoMarksError(MpiricError):
    """A program has no step markers; ``complete`` is the observed run if it was complete, with its record."""

    def __init__(self, message: str, run: Trial | None = None, recorded: Recorded | None = None) -> None:
        super().__init__(message)
        is_complete = run is not None and not run.came_early
        self.complete = [run] if run and is_complete else []
        self.records = [recorded] if recorded and is_complete else []


@dataclass(frozen=True)
class _Proposal:
    """Step markers proposed by a run; without a window if there are none."""

    choice: MarkChoice
    window: MarkWindow | None = None
    calls: int = 0  # number of calls on rank 0
    too_steep: MarkKey | None = None  # refused marker, whose steps grow or shrink too much


def learn_marks(lab: Lab, host: Host, records: Path, options: MarkOptions) -> Plan[StepMarkers]:
    """Run the original until marks are found in it, for no longer than the budget. Raises NoMarksError."""
    directory = records / f"steps-{lab.count + 1}"
    try:
        runtime_with_marks(lab.situation, host)
        unloadable = ""
    except MpiricError as error:
        unloadable = error.message
    if unloadable and options.named and not options.named.key.is_printed:
        raise NoMarksError(f"the mark {options.named.text} cannot be seen: {unloadable}")
    output = OutputFollower(lab.next_stdout)
    watch = _Watch(None if unloadable else directory, output, options, time.monotonic())
    early_end = EarlyEnd(watch.is_over, every_s=EVERY_S)
    if unloadable:
        run = Run(Configuration(), Phase.RECORD, probe=WholeRun(early_end=early_end))
    else:
        recorder = recorder_for(lab.situation, host)
        run = recorded_run(Configuration(), recorder, directory, early_end=early_end)
    trial = yield run
    if trial.outcome is not Outcome.OK:
        raise NoMarksError(f"a run of it {trial.reason or 'failed'}")
    recorded, why = None, unloadable
    if not unloadable:
        try:
            recorded = recorded_by(trial, lab, directory)
        except MpiricError as error:
            why = error.message
    if recorded and (stuck := next(iter(stuck_advice(recorded.record, host)), None)) and stuck.explains_run:
        raise ProgramFailedError(
            f"the command does not come to its end: {stuck.finding.says}", hint=stuck.finding.fix
        )
    pace = run_pace(recorded.record) if recorded else None
    if pace is not None and trial.came_early and watch.seen_s > 0:
        pace = pace.seen_until(watch.seen_s)  # a busy node may take long to end the ranks
    result = watch.proposal(pace, why, at_end=True)
    if result.window is None or result.choice.key is None:
        raise NoMarksError(result.choice.why, trial, recorded)
    is_free = options.named is None and not options.required
    if is_free and not trial.came_early and trial.wall_s <= options.long_s:
        # The first run was longer: it compiled code for later runs, or was disturbed.
        raise NoMarksError(f"a second run took {trial.wall_s:.3g} s only", trial, recorded)
    if is_free and is_most_of(result.window, trial):
        until_s = f"a run to the mark takes {result.window.last_s:.3g} s, a whole one {trial.wall_s:.3g} s"
        raise NoMarksError(until_s, trial, recorded)
    numbers = result.window.first, result.window.last
    pair = MarkPair(result.choice.key, *numbers, on_rank_0_alone=result.choice.on_rank_0_alone)
    reasons = [result.choice.why, *(_describe(pair.key, recorded, watch, host) if recorded else ())]
    is_counted = not trial.came_early and options.named is None
    whole_marks = result.calls if is_counted else None
    why_unrecorded = "" if recorded else why
    return StepMarkers(pair, result.window, "; ".join(reasons), whole_marks, recorded, why_unrecorded)


def is_most_of(window: MarkWindow, trial: Trial) -> bool:
    """Return whether a run to the mark takes most of the whole run that was seen."""
    return not trial.came_early and window.last_s > _MOST * trial.wall_s


def _describe(key: MarkKey, recorded: Recorded, watch: "_Watch", host: Host) -> Iterator[str]:
    """Yield the function that makes the calls of a key, and the number of calls per line of output."""
    first = without_library_places(run_pace(recorded.record)).first_rank
    module, plus, offset = key.place.rpartition("+")
    paths = {path for _, path in modules_of(recorded.record.ranks[0].facts)} if plus else set()
    path = next((path for path in sorted(paths) if path.rpartition("/")[2] == module), "")
    yield from (
        f"called in {name}" for name in name_places([f"{path}+{offset}"] if path else [], host).values()
    )
    calls = first.of(key) if first is not None and not key.is_printed else None
    if first is not None and calls is not None:
        printed = watch.output.printed(watch.begun_s, time.monotonic())
        if sentence := marks_per_line(calls, first.seen_s, printed):
            yield sentence


@dataclass
class _Watch:
    """Observes a run in progress: the record of rank 0, and the output."""

    directory: Path | None  # None: the run is not recorded
    output: OutputFollower
    options: MarkOptions
    begun_s: float
    _next_s: float = 0.0
    _seen_key: MarkKey | None = None  # counter of the steps in the last look
    _seen_key_s: float = 0.0
    _calls_are_late: bool = False  # calls had a long look and count no steps: lines may
    seen_s: float = 0.0  # progress of rank 0 at the last look; 0: unknown

    def is_over(self) -> bool:
        """Return whether the run may be ended now; look at its ranks before."""
        if not self.will_do():
            return False
        if self.directory is not None:
            look_at_ranks(self.directory, 0)
        return True

    def will_do(self) -> bool:
        """Return whether step markers were found, or the budget allows no longer look."""
        now_s = time.monotonic()
        self.output.look()
        seen_s, least_s = now_s - self.begun_s, max(_LEAST_SEEN_S, self.options.long_s)
        if now_s < self._next_s or seen_s < least_s:
            return False
        self._next_s = now_s + _LOOK_EVERY_S
        if seen_s > self.options.budget_s + self.options.after_s:
            return True
        if self.directory is None:
            result = self.proposal(None, "")
        else:
            pace = self._pace_so_far(self.directory)
            self.seen_s = pace.first_rank.seen_s if pace and pace.first_rank else 0.0
            self._calls_are_late = seen_s > _LONGEST_LOOK * least_s
            result = self.proposal(pace, "", printed_too=seen_s > 2 * least_s)
        if result.window is None:
            return False
        if self.options.named is not None:
            return True
        # A counter of a long set-up ends with it: a longer look has to find the same counter.
        key = result.choice.key
        if self._seen_key != key:
            self._seen_key, self._seen_key_s = key, seen_s
        if seen_s > max(least_s, _LOOK_SHARE * self.options.budget_s):
            return True
        may_end_soon = self.options.length_s is None and seen_s < _END_SHARE * self.options.budget_s
        is_changing = abs(result.window.growth) > _STEADY and seen_s < _LONGEST_LOOK * least_s
        return seen_s >= _CONFIRMED * self._seen_key_s and not is_changing and not may_end_soon

    @staticmethod
    def _pace_so_far(directory: Path) -> RunPace | None:
        path = next(directory.glob("rank-0.*.part"), None)
        try:
            return run_pace(read_file(path)) if path else None
        except MpiricError:
            return None  # the file is being written

    def proposal(
        self, pace: RunPace | None, why: str, *, printed_too: bool = True, at_end: bool = False
    ) -> _Proposal:
        """Return the markers that the run proposes.

        ``why`` is the reason for a missing pace; ``at_end``: the pace holds all ranks.
        """
        named = self.options.named
        if named is not None and named.key.is_printed:
            return self._printed(named)
        if pace is not None and named is not None:
            complete = pace if at_end else replace(pace, world_size=len(pace.ranks))
            return self._judged(*choose_named(complete, named))
        if pace is None:
            calls = _Proposal(MarkChoice(None, why, few_calls=True))
        else:
            merged = without_library_places(pace)
            calls = self._counted(at_any_size(merged) if self.options.any_size else merged)
        is_printed_of_use = calls.choice.few_calls or self._calls_are_late
        if calls.choice.key is not None or not is_printed_of_use or not printed_too or named is not None:
            return calls
        printed = self._printed(None)
        if printed.window is not None:
            return printed
        return _Proposal(MarkChoice(None, f"{why or calls.choice.why}, and {printed.choice.why}"))

    def _counted(self, pace: RunPace) -> _Proposal:
        """Choose the calls that count steps, more frequent ones if the steps of the rarest grow."""
        first = result = self._judged(pace, choose_key(pace))
        while result.too_steep is not None:
            pace = without_key(pace, result.too_steep)
            result = self._judged(pace, choose_key(pace))
        return result if result.window is not None else first

    def _printed(self, named: NamedMark | None) -> _Proposal:
        printed = self.output.printed(self.begun_s, time.monotonic())
        pace = printed_pace(printed, named.key if named else None)
        if named is None:
            return self._judged(pace, choose_printed(pace))
        calls = pace.ranks[0].of(named.key)
        if calls is None:
            lines = f"{len(printed.lines)} lines in {printed.seen_s:.3g} s"
            return _Proposal(MarkChoice(None, f"the mark {named.text} matches none of its {lines}"))
        return self._judged(pace, MarkChoice(named.key, f"named by --mark, {calls.calls} times"))

    def _judged(self, pace: RunPace, choice: MarkChoice) -> _Proposal:
        first = pace.first_rank
        calls = first.of(choice.key) if first is not None and choice.key is not None else None
        if first is None or calls is None:
            return _Proposal(choice)
        window = self._window(calls)
        if window is not None and not -_STEEPEST / (1 + _STEEPEST) <= window.growth <= _STEEPEST:
            times = 1 + window.growth
            name = "its output" if calls.key.is_printed else mark_name(calls.key)
            change = f"{times:.3g} times longer" if times > 1 else f"{1 / times:.3g} times shorter"
            choice = replace(choice, key=None, why=f"the steps that {name} counts become {change}")
            return _Proposal(choice, too_steep=calls.key)
        if window is None:
            name = "its output" if calls.key.is_printed else mark_name(calls.key)
            times_seen = f"{calls.calls:,} times in {first.seen_s:.3g} s"
            choice = replace(choice, key=None, why=f"{name} came {times_seen}: too few steps were seen")
        return _Proposal(choice, window, calls.calls)

    def _window(self, calls: KeyPace) -> MarkWindow | None:
        named = self.options.named
        if named is not None and named.numbers is not None:
            return window_of(calls, *named.numbers)
        return choose_window([calls], self.options.budget_s, self.options.after_s)

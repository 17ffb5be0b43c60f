"""Observation of the unchanged command: a few runs show its results, its duration and its ranks."""

from dataclasses import field, replace
from math import inf
from pathlib import Path
from statistics import median, median_low

from mpiric.host.command_log import masked
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.processes.request import EarlyEnd, after
from mpiric.lab.directory_runs import Recorded
from mpiric.lab.endings import FailedRun, explain_ending, read_tail
from mpiric.lab.lab import Lab
from mpiric.lab.probes import WholeRun
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.rank_choice import is_mpi_library
from mpiric.model.run import UNCHANGED, Narrator, Outcome, Phase, Plan, Run, Trial
from mpiric.model.situation import EVERYTHING, Allowed, Observation, RankSeen
from mpiric.tuning.objective import Budget
from mpiric.workflows.launch.parse_job import ParsedJob, resolve_mpi, serving
from mpiric.workflows.trials.expected import expected_ranks, known_situation, observation_of, situation_of
from mpiric.workflows.trials.find_marks import find_marks
from mpiric.workflows.trials.recorded_runs import (
    not_recorded,
    observed_behaviour,
    record_original,
)
from mpiric.workflows.trials.step_markers import MarkOptions, NoMarksError, StepMarkers

_WITHOUT_NAME = "without --mark, mpiric looks for a step marker, and runs to the end without one"
_MPMD = "; its ranks run several programs (MPMD), each with separate calls"
_WITHOUT_MPI = "the program makes no MPI call: only settings that need none are tried"
# Durations of later looks relative to the first, which ended before the ranks were up.
_LATER_LOOKS = 3.0, 6.0
_LONG_S = 120.0  # a program that takes longer is looked at twice, not three times
_MORE_TIME = (
    "give a larger --budget (a proof takes some twenty runs) or a smaller input, name a call of each step "
    "with --mark, or add --to-the-end, which stops no run"
)
_MOST_FAILURES = 3  # failures in a row
_FEWEST = 2  # complete runs needed to compare outputs; further runs take at most half of the budget
_SHARE = 0.5
_DISTURBED = 1.3  # time relative to the quickest run, above which a run was disturbed
_TAIL_LINES = 15  # lines of the output of a failed command that are shown
_DISTURBED_RUNS = 2  # further runs if one was disturbed


@dataclass
class OriginalRuns:
    """The runs so far; without a ``budget`` their number is not limited."""

    job: Job
    host: Host
    budget: Budget | None
    untouched_runs: list[Trial] = field(default_factory=list)  # complete or ended early
    recorded_runs: list[Trial] = field(default_factory=list)
    records: list[Recorded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # reason for missing records

    @property
    def whole(self) -> tuple[Trial, ...]:
        """Return the complete runs, untouched ones first."""
        return (*self.whole_untouched, *self.recorded_runs)

    @property
    def wall_s(self) -> float:
        """Return the duration of a run: of two the faster one, as disturbances only make a run slower.

        If all runs ended early, the longest of them is a lower bound.
        """
        if runs := self.whole_untouched or self.recorded_runs:
            return median_low(trial.wall_s for trial in runs)
        return max(trial.wall_s for trial in self.untouched_runs)

    @property
    def is_disturbed(self) -> bool:
        """Return whether untouched runs differ so much in time that another load must have disturbed one."""
        walls = [trial.wall_s for trial in self.whole_untouched]
        return len(walls) > 1 and sorted(walls)[len(walls) // 2] > _DISTURBED * min(walls)

    @property
    def whole_untouched(self) -> list[Trial]:
        """Return the complete untouched runs."""
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

    def untouched(self, early_end: EarlyEnd | None = None) -> Plan[Trial]:
        """Make an untouched run; repeat it if it fails after others have worked.

        Raises ProgramFailedError, with the end of the output, if the unchanged command fails.
        """
        longest_s = max((trial.wall_s for trial in self.whole), default=None)
        limit_s = None if longest_s is None else UNCHANGED.after(longest_s)
        probe = WholeRun(early_end=early_end) if early_end else None
        for failures in range(1, _MOST_FAILURES + 1):
            trial = yield Run(Configuration(), Phase.OBSERVE, limit_s=limit_s, observe=True, probe=probe)
            if trial.outcome is Outcome.OK:
                break
            if limit_s is None or failures == _MOST_FAILURES:
                raise program_failed(self.job, trial, self.host)
        self.untouched_runs.append(trial)
        return trial

    def to_the_end(self, marks_why: str = "") -> Plan[None]:
        """Make a complete run within the budget. Raises MpiricError if the budget ends before the run.

        ``marks_why`` is the reason why runs cannot end at a step marker.
        """
        left_s = inf if self.budget is None else self.budget.remaining_s
        doing = next((trial.doing for trial in reversed(self.untouched_runs) if trial.doing), "")
        if left_s > 0:
            trial = yield from self.untouched(None if left_s == inf else after(left_s))
            if not trial.came_early:
                return
            doing = trial.doing
        assert self.budget is not None
        why = f", and runs cannot end at a mark: {marks_why}" if marks_why else ""
        raise MpiricError(
            f"a run of the command was stopped when the budget of {self.budget.seconds:g} s was spent, "
            f"so how long it takes is not known{why}{'; when it was stopped: ' if doing else ''}{doing}",
            hint=_MORE_TIME,
        )


def program_failed(job: Job, trial: Trial, host: Host) -> ProgramFailedError:
    """Return the error for an unchanged command that fails: the known cause, and the end of its output."""
    printed = _tail(trial.stderr) or _tail(trial.stdout)
    end = f"; it printed:\n{printed}" if printed else "; it printed nothing"
    text = "\n".join(read_tail(Path(path)) for path in (trial.stdout, trial.stderr) if path)
    ending = explain_ending(FailedRun(job, text, trial.exit_status), host)
    cause = f": {ending.finding.says}" if ending else ""
    hint = "make the command work without mpiric first; mpiric changes nothing in this first run"
    return ProgramFailedError(
        f"the command does not work as it stands{cause}: "
        f"{' '.join(masked(job.argv))} {trial.reason or 'failed'}{end}",
        hint=". Write: ".join((ending.finding.fix, *ending.commands)) if ending else hint,
    )


def _tail(path: str) -> str:
    try:
        text = Path(path).read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-_TAIL_LINES:])


@dataclass(frozen=True)
class Observed:
    """Result of the runs of the original, besides the situation of the lab."""

    originals: tuple[Trial, ...]  # all successful runs of the original, in order
    recorded: tuple[Recorded, ...] = ()  # records of the runs of phase RECORD, in order
    notes: tuple[str, ...] = ()  # reason for a missing record
    marks: StepMarkers | None = None  # step markers where runs end; None: complete runs
    marks_why: str = ""  # reason why a long program has no markers


@dataclass(frozen=True)
class Observing:
    """Options of the observation."""

    allowed: Allowed = EVERYTHING
    compare: bool = False  # whether later runs have to print and write what these do
    records: Path | None = None  # directory for records of its runs; None: they are not recorded
    # End the runs of a long program at a step marker; None: complete runs.
    mark_options: MarkOptions | None = None
    budget: Budget | None = None  # runs to the end are made for as long as it lasts; None: without limit


def observe(lab: Lab, parsed: ParsedJob, host: Host, narrator: Narrator, how: Observing) -> Plan[Observed]:
    """Run the original two or three times, and learn the reference for all other runs.

    It runs untouched first, then with the recording runtime in its ranks, if possible.

    Raises ProgramFailedError, with the end of the output, if the unchanged command fails, and MpiricError if
    the budget ends before the first run.
    """
    allowed, records, options = how.allowed, how.records, how.mark_options
    lab.situation = known_situation(parsed, host, allowed)
    runs = OriginalRuns(parsed.job, host, how.budget)
    ranks = parsed.job.ranks or 1 if parsed.nodes == 1 else 1
    if options is not None:
        yield from runs.untouched(after(options.long_s))
        is_local = (
            parsed.nodes == 1
            and bool(parsed.job.launcher_words)
            and not parsed.job.launcher.serves_every_library
        )
        for times in _LATER_LOOKS:
            if not runs.whole and is_local and not _are_up(runs.untouched_runs[-1].ranks, ranks, host):
                yield from runs.untouched(after(times * options.long_s))
    else:
        yield from runs.to_the_end()
    required = options is not None and options.required
    is_long = not runs.whole or required
    # A later look may have seen the whole of a long run.
    if options is not None and len(runs.untouched_runs) > 1:
        is_long = is_long or runs.wall_s > options.long_s
    if not is_long and len(runs.untouched_runs[0].ranks) < ranks and runs.that_fit(2):
        yield from runs.untouched()  # a short run may end before all its ranks are seen
    observation = _observation(runs, parsed, host)
    mpi = resolve_mpi(parsed, observation, host)
    parsed = serving(parsed, mpi, observation, host)
    lab.situation = situation = situation_of(parsed, mpi, observation, allowed, host)
    marks_why = ""
    if is_long and options is not None and (records is not None or options.fixed):
        try:
            marks = yield from find_marks(lab, host, narrator, records, options, how.budget)
            return _at_marks(marks, lab, options, compare=how.compare)
        except NoMarksError as error:
            marks_why = error.message + (_MPMD if parsed.job.is_of_several_programs else "")
            if required:
                raise MpiricError(marks_why, hint=_WITHOUT_NAME if options.named else "") from error
            lab.probes, lab.judge.at_mark = {}, None
            runs.recorded_runs += error.complete
            runs.records += error.records
            narrator.say(f"no step marker, so that runs are not ended early: {marks_why}")
            if not runs.whole:
                yield from runs.to_the_end(marks_why)
    yield from _run_whole(runs, lab, host, records)
    situation = replace(situation, observation=_observation(runs, parsed, host))
    notes = tuple(runs.notes)
    if records is not None and _makes_no_mpi_call(runs, situation.observation, records):
        situation = replace(situation, observation=replace(situation.observation, uses_mpi=False))
        notes = (_WITHOUT_MPI,)
        narrator.say(_WITHOUT_MPI)
    behaviour = observed_behaviour(runs.records, situation)
    situation = replace(situation, observation=replace(situation.observation, behaviour=behaviour))
    # After a single run no time is left for another run to compare with it.
    lab.judge.learn(runs.whole, compare=how.compare and len(runs.whole) > 1)
    lab.situation = situation
    return Observed(runs.whole, tuple(runs.records), notes, marks_why=marks_why)


def _are_up(observed: tuple[RankSeen, ...], ranks: int, host: Host) -> bool:
    """Return whether all ranks were seen running, and not the launcher process before its exec."""

    def is_up(rank: RankSeen) -> bool:
        if any("/libc.so" in path or "/libc-" in path for path in rank.libraries):
            return True
        elf = host.elf(rank.program)
        return elf is not None and not elf.interpreter

    return sum(rank.rank is not None and is_up(rank) for rank in observed) >= ranks


def _run_whole(runs: OriginalRuns, lab: Lab, host: Host, records: Path | None) -> Plan[None]:
    """Make the complete runs that the budget allows: untouched, recorded, and more if one was disturbed."""
    usual = 2 if runs.whole[0].wall_s > _LONG_S else 3
    if runs.that_fit(usual) and not runs.whole_untouched:
        yield from runs.untouched()
    if records is not None:
        trials, recorded, notes = yield from record_original(lab, host, records, runs.that_fit(usual))
        runs.recorded_runs += trials
        runs.records += recorded
        runs.notes += notes
    while runs.that_fit(usual):
        yield from runs.untouched()
    for _ in range(_DISTURBED_RUNS):
        if runs.is_disturbed and runs.that_fit(len(runs.whole) + 1):
            yield from runs.untouched()


def _makes_no_mpi_call(runs: OriginalRuns, observation: Observation, records: Path) -> bool:
    """Return whether a run with the recording runtime has shown that no rank calls MPI_Init.

    Neither the executable nor a rank that was seen has an MPI library then, and nothing was recorded.
    """
    if observation.mpi_names or runs.records or not runs.recorded_runs:
        return False
    if any(
        is_mpi_library(path)
        for trial in runs.untouched_runs
        for rank in trial.ranks
        for path in rank.libraries
    ):
        return False
    return not any(is_file(path) for path in records.rglob("*"))


def _at_marks(marks: StepMarkers, lab: Lab, options: MarkOptions, *, compare: bool) -> Observed:
    """Return the observation of runs that end at a marker. Raises NoMarksError without an objective there."""
    judge, situation = lab.judge, lab.situation
    judge.learn_at_mark(marks.pair, marks.originals, compare=compare)
    if options.length_s is not None:
        judge.marks_of_length = marks.marks_of_length(options.length_s)
    elif marks.whole_marks is not None:
        judge.marks_of_length = float(marks.whole_marks)
    recorded = (marks.recorded,) if marks.recorded else ()
    observation = replace(
        situation.observation,
        wall_s=median(trial.wall_s for trial in marks.originals),
        behaviour=observed_behaviour(recorded, situation),
    )
    situation = replace(situation, observation=observation)
    launch = render(Configuration(), situation)
    try:
        originals = tuple(judge.valued(trial, launch, situation) for trial in marks.originals)
    except MpiricError as error:
        raise NoMarksError(f"before the mark {error.message}") from error
    lab.situation = situation
    notes = (not_recorded(marks.why_unrecorded),) if marks.why_unrecorded else ()
    return Observed(originals, recorded, notes, marks=marks)


def _observation(runs: OriginalRuns, parsed: ParsedJob, host: Host) -> Observation:
    """Return the observation of untouched runs; the ranks of recorded ones also load the runtime."""
    fullest = max(reversed(runs.untouched_runs), key=lambda trial: len(trial.ranks))

    def is_static(rank: RankSeen) -> bool:
        elf = host.elf(rank.program) if rank.libraries and parsed.job.container is None else None
        return elf is not None and not elf.interpreter

    # A static program ignores preloads.
    ranks = tuple(
        replace(rank, libraries=()) if is_static(rank) else rank
        for rank in fullest.ranks or expected_ranks(parsed, host)
    )
    return observation_of(ranks, parsed, host, runs.wall_s, fullest.wall_s)

"""The unchanged command run a few times: does it work, how long does it take, what do its ranks look like."""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.processes.early_end import after
from mpiric.lab.lab import Lab
from mpiric.lab.recording import Recorded
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job
from mpiric.model.narrator import Narrator
from mpiric.model.rank_choice import is_mpi_library
from mpiric.model.run import Plan
from mpiric.model.situation import EVERYTHING, Allowed, Observation, RankSeen, Situation
from mpiric.model.trial import Trial
from mpiric.tuning.budget import Budget
from mpiric.workflows.launch.parse_job import (
    ParsedJob,
    resolve_mpi,
    serving,
)
from mpiric.workflows.trials.behaviour import observed_behaviour
from mpiric.workflows.trials.expected import expected_ranks, known_situation, observation_of, situation_of
from mpiric.workflows.trials.find_marks import FoundMarks, find_marks
from mpiric.workflows.trials.learn_marks import MarkWishes, NoMarksError
from mpiric.workflows.trials.original_runs import DISTURBED_RUNS, OriginalRuns
from mpiric.workflows.trials.recorded_runs import not_recorded, record_original

_WITHOUT_NAME = "leave out --mark: mpiric looks for one itself, and runs are whole where there is none"
_MPMD = "; its ranks run several programs (MPMD), each with calls of its own"
_WITHOUT_MPI = "the program makes no MPI call: only settings that need none are tried"
_LATER_LOOKS = (3.0, 6.0)  # times the first one, where this ended before the ranks were up
_LONG_S = 120.0  # a program that takes longer is looked at twice, not three times


@dataclass(frozen=True)
class Observed:
    """What the runs of the original have shown."""

    situation: Situation
    originals: tuple[Trial, ...]  # every run of it that ended well, in order
    recorded: tuple[Recorded, ...] = ()  # what those of phase RECORD have left, the last one last
    notes: tuple[str, ...] = ()  # why there is no record
    marks: FoundMarks | None = None  # at which its runs end; None: they are whole
    marks_why: str = ""  # why it has none, though it is long


@dataclass(frozen=True)
class Observing:
    """How a job is observed."""

    allowed: Allowed = EVERYTHING
    compare: bool = False  # whether later runs have to print and write what these do
    records: Path | None = None  # directory for records of its runs; None: they are not recorded
    wishes: MarkWishes | None = None  # with them a long program runs to a step marker, where it has one
    budget: Budget | None = None  # runs to the end are made for as long as it lasts; None: without limit


def observe(lab: Lab, parsed: ParsedJob, host: Host, narrator: Narrator, how: Observing) -> Plan[Observed]:
    """Run the original two or three times and learn from it what every other run is held against.

    It runs untouched first, then with the recording runtime in its ranks, where it can be recorded.

    Raises ProgramFailedError, with the program's last words, when it does not work as it stands, and
    MpiricError when the budget is over before its first run is.
    """
    allowed, records, wishes = how.allowed, how.records, how.wishes
    lab.situation = known_situation(parsed, host, allowed)
    runs = OriginalRuns(parsed.job.argv, how.budget)
    ranks = parsed.job.ranks or 1 if parsed.nodes == 1 else 1
    if wishes is not None:
        yield from runs.untouched(after(wishes.long_s))
        is_local = (
            parsed.nodes == 1
            and bool(parsed.job.launcher_words)
            and not parsed.job.launcher.serves_every_library
        )
        for times in _LATER_LOOKS:
            if not runs.whole and is_local and not _are_up(runs.seen[-1].ranks, ranks, host):
                yield from runs.untouched(after(times * wishes.long_s))
    else:
        yield from runs.to_the_end()
    required = wishes is not None and wishes.required
    is_long = not runs.whole or required
    if wishes is not None and len(runs.seen) > 1:  # a later look may have seen the whole of a long run
        is_long = is_long or runs.wall_s > wishes.long_s
    if not is_long and len(runs.seen[0].ranks) < ranks and runs.that_fit(2):
        yield from runs.untouched()  # a short run may end before all its ranks are seen
    observation = _seen(runs, parsed, host)
    mpi = resolve_mpi(parsed, observation, host)
    parsed = serving(parsed, mpi, observation, host)
    lab.situation = situation = situation_of(parsed, mpi, observation, allowed, host)
    marks_why = ""
    if is_long and wishes is not None and (records is not None or wishes.fixed):
        try:
            found = yield from find_marks(lab, host, narrator, records, wishes, how.budget)
            return _at_marks(found, lab, wishes, compare=how.compare)
        except NoMarksError as error:
            marks_why = error.message + (_MPMD if parsed.job.is_of_several_programs else "")
            if required:
                raise MpiricError(marks_why, hint=_WITHOUT_NAME if wishes.named else "") from error
            lab.probes, lab.judge.at_mark = {}, None
            runs.add(error.whole)
            narrator.say(f"no marks, so that runs are whole: {marks_why}")
            if not runs.whole:
                yield from runs.to_the_end(marks_why)
    yield from _run_whole(runs, lab, host, records)
    situation = replace(situation, observation=_seen(runs, parsed, host))
    notes = runs.recorded.notes
    if records is not None and _makes_no_mpi_call(runs, situation.observation, records):
        situation = replace(situation, observation=replace(situation.observation, uses_mpi=False))
        notes = (_WITHOUT_MPI,)
        narrator.say(_WITHOUT_MPI)
    behaviour = observed_behaviour(runs.recorded.recorded, situation)
    situation = replace(situation, observation=replace(situation.observation, behaviour=behaviour))
    # With one run there is time for no other that would be compared with it.
    lab.judge.learn(runs.whole, compare=how.compare and len(runs.whole) > 1)
    lab.situation = situation
    return Observed(situation, runs.whole, runs.recorded.recorded, notes, marks_why=marks_why)


def _are_up(observed: tuple[RankSeen, ...], ranks: int, host: Host) -> bool:
    """Return whether ranks were seen as they run, and not the launcher before it became them."""

    def is_up(rank: RankSeen) -> bool:
        if any("/libc.so" in path or "/libc-" in path for path in rank.libraries):
            return True
        elf = host.elf(rank.program)
        return elf is not None and not elf.interpreter

    return sum(rank.rank is not None and is_up(rank) for rank in observed) >= ranks


def _run_whole(runs: OriginalRuns, lab: Lab, host: Host, records: Path | None) -> Plan[None]:
    """Make the runs to their end that the budget allows: untouched, recorded, and again if disturbed."""
    wanted = 2 if runs.whole[0].wall_s > _LONG_S else 3
    if runs.that_fit(wanted) and not runs.has_whole_untouched:
        yield from runs.untouched()
    if records is not None:
        runs.add((yield from record_original(lab, host, records, runs.that_fit(wanted))))
    while runs.that_fit(wanted):
        yield from runs.untouched()
    for _ in range(DISTURBED_RUNS):
        if runs.is_disturbed and runs.that_fit(len(runs.whole) + 1):
            yield from runs.untouched()


def _makes_no_mpi_call(runs: OriginalRuns, observation: Observation, records: Path) -> bool:
    """Return whether a run with the recording runtime has shown that no rank calls MPI_Init.

    Neither the executable nor a rank that was seen has an MPI library then, and nothing was recorded.
    """
    if observation.mpi_names or runs.recorded.recorded or not runs.recorded.trials:
        return False
    if any(is_mpi_library(path) for trial in runs.seen for rank in trial.ranks for path in rank.libraries):
        return False
    return not any(is_file(path) for path in records.rglob("*"))


def _at_marks(found: FoundMarks, lab: Lab, wishes: MarkWishes, *, compare: bool) -> Observed:
    """What is known of a program whose runs end at a mark. Raises NoMarksError without an objective there."""
    judge, situation = lab.judge, lab.situation
    judge.learn_at_mark(found.pair, found.originals, compare=compare)
    if wishes.length_s is not None:
        judge.marks_of_length = found.marks_of_length(wishes.length_s)
    elif found.whole_marks is not None:
        judge.marks_of_length = float(found.whole_marks)
    recorded = (found.recorded,) if found.recorded else ()
    observation = replace(
        situation.observation,
        wall_s=median(trial.wall_s for trial in found.originals),
        behaviour=observed_behaviour(recorded, situation),
    )
    situation = replace(situation, observation=observation)
    launch = render(Configuration(), situation)
    try:
        originals = tuple(judge.valued(trial, launch, situation) for trial in found.originals)
    except MpiricError as error:
        raise NoMarksError(f"before the mark {error.message}") from error
    lab.situation = situation
    notes = (not_recorded(found.why_unrecorded),) if found.why_unrecorded else ()
    return Observed(situation, originals, recorded, notes, marks=found)


def _seen(runs: OriginalRuns, parsed: ParsedJob, host: Host) -> Observation:
    """What untouched runs have shown: in recorded ones, the runtime would be among what the ranks load."""
    fullest = max(reversed(runs.seen), key=lambda trial: len(trial.ranks))
    ranks = fullest.ranks or expected_ranks(parsed, host)
    ranks = tuple(_preloadable(rank, parsed.job, host) for rank in ranks)
    return observation_of(ranks, parsed, host, runs.wall_s, fullest.wall_s)


def _preloadable(rank: RankSeen, job: Job, host: Host) -> RankSeen:
    """A rank, without libraries where its program is static: those that it opens let nothing be preloaded."""
    elf = host.elf(rank.program) if rank.libraries and job.container is None else None
    return replace(rank, libraries=()) if elf is not None and not elf.interpreter else rank

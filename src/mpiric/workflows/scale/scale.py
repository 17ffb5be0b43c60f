"""`mpiric scale`: measure a command at several sizes, find out why the curve bends, and recommend a size."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime, timezone
from pathlib import Path

from mpiric import __version__, launchers
from mpiric.host.command_log import masked
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.host.processes.request import after
from mpiric.lab.directory_runs import RECORDS, Recorded
from mpiric.lab.endings import read_tail
from mpiric.lab.failures import allocation_hosts
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab, LoggedTrials, drive
from mpiric.lab.render import render
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Recipe
from mpiric.model.run import Narrator, Outcome, Phase, Plan, Run, Trial
from mpiric.model.scaling import Scaling, Size
from mpiric.model.situation import EVERYTHING
from mpiric.plans.scaling import SizeRuns, SizesToMeasure, measure_sizes
from mpiric.profile.stuck import describe_states
from mpiric.schedulers import job_around
from mpiric.statistics.scaling_estimates import bend_of, time_of
from mpiric.tuning.objective import Budget, Objective
from mpiric.tuning.recipe import save_copy
from mpiric.tuning.store import Store, TuneLog
from mpiric.workflows.launch.fingerprints import fingerprint, job_identity, program_name
from mpiric.workflows.launch.nodes import cleaned_nodes, node_count
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job
from mpiric.workflows.scale.answer import answer_of, with_starts
from mpiric.workflows.scale.request import ScaleRequest
from mpiric.workflows.scale.sizes import Launches, check_job, launches_of, sized
from mpiric.workflows.trials.expected import expected_situation, known_situation
from mpiric.workflows.trials.observe import Observed, Observing, observe
from mpiric.workflows.trials.recorded_runs import recorded_by, recorded_run, recorder_for
from mpiric.workflows.trials.step_markers import WHOLE_RUNS, MarkOptions, keep_marks, kept_marks
from mpiric.workflows.trials.users_lab import trial_directories

_BLOCKS, _OWN_RUNS = 4, 8  # blocks and runs of the command as it is that fit into the budget
_LIMIT, _SLACK_S = 5.0, 20.0  # time limit of a recorded run: factor of an untouched one, plus slack
_BANNER = re.compile(
    r"-{20,}|={20,}|MPI_ABORT|Abort\(|application called MPI_Abort|BAD TERMINATION|srun: |slurmstepd|"
    r"(?:mpirun|mpiexec|prterun|prun)\b"
)


@dataclass
class ScaleState:
    """A scaling study in progress."""

    request: ScaleRequest
    lab: Lab
    log: TuneLog
    budget: Budget
    narrator: Narrator
    runs: SizeRuns = field(default_factory=SizeRuns)
    launches: Launches | None = None
    observed: Observed | None = None
    recorded: dict[Size, Recorded] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def scale(request: ScaleRequest, host: Host, narrator: Narrator, runner: Runner | None = None) -> Scaling:
    """Make a scaling study. Ctrl-C ends the measurements; the answer uses the sizes measured until then."""
    parsed = _parsed(request, host)
    with _open(request, parsed, host, narrator, runner or Runner()) as state:
        logged = LoggedTrials(_unfinished(state))
        drive(_study(state, parsed, host), state.lab.measure, lambda trial: _report(state, trial), logged)
        failures = {size: _failure(trial) for size, trial in state.runs.failed.items()}
        assert state.observed is not None
        assert state.launches is not None
        result = answer_of(
            request, state.launches, state.runs, state.observed, state.recorded, failures, state.notes
        )
        result = with_starts(result, host)
        if request.output is not None:
            result = replace(result, recipe=_save_recipe(request.output, result, state.launches, host))
        if not state.runs.interrupted:
            state.log.append("finished", {"result": {}, "trials": state.lab.count})
        return replace(result, elapsed_s=state.budget.elapsed_s)


def _save_recipe(path: Path, result: Scaling, launches: Launches, host: Host) -> str:
    """Write ranks, threads and nodes of the recommended size as a recipe; return its path."""
    situation, choice = launches.situation, result.recommended
    assert choice.size is not None
    name = program_name(situation.job)
    configuration = launches.configuration(choice.size)
    recipe = Recipe(
        name=name,
        configuration=configuration,
        fingerprint=fingerprint(situation.job, situation.machine, situation.mpi, host),
        evidence=None,
        command=launches.request.argv,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        reasons=dict.fromkeys(configuration.as_dict(), f"scaling study: {choice.purpose}"),
        checked_output="none",
        mpiric_version=__version__,
        measured_in=job_around(host),
    )
    return str(save_copy(path, recipe))


def _unfinished(state: ScaleState) -> list[Trial]:
    """Return the trials of an interrupted study; a submitted one has earlier, finished ones in its log."""
    finished = state.log.read().named("finished")
    number = finished[-1].get("trials") if finished else 0
    last = number if isinstance(number, int) else 0
    return [trial for trial in state.lab.earlier if trial.phase is Phase.SEARCH and trial.number > last]


def dry_run(request: ScaleRequest, host: Host) -> list[str]:
    """Return the sizes of a study as known without running anything."""
    parsed = _parsed(request, host)
    launches = launches_of(request, expected_situation(parsed, host, EVERYTHING), host)
    lines = []
    for size in launches.sizes():
        why_not = launches.why_not(size)
        launch = None if why_not else render(launches.configuration(size), launches.situation_at(size))
        lines.append(f"{size}: {launch.shell_line() if launch else f'not run: {why_not}'}")
    return lines


def _parsed(request: ScaleRequest, host: Host) -> ParsedJob:
    """Parse the command at the user's own size. Raises MpiricError if no other size is possible."""
    line = (request.working_directory, request.environment, request.stdin)
    job = launchers.parse_command(request.argv, *line)
    check_job(request, job)
    threads = request.threads[0] if request.threads else 1
    own_size = Size(job.ranks or 1, node_count(job, host), threads)
    argv = sized(request.argv, own_size) if request.weak else request.argv
    return parse_job(argv, host, *line)


@contextmanager
def _open(
    request: ScaleRequest, parsed: ParsedJob, host: Host, narrator: Narrator, runner: Runner
) -> Iterator[ScaleState]:
    """Open the log, new or of the study to resume, and prepare the lab."""
    store, identity = Store(request.store), f"scale-{job_identity(parsed.job)}"
    if request.into is not None:
        log = Store.part(request.into, job=identity, command=list(masked(request.argv)))
    elif request.resume:
        log = store.resume(store.latest(identity).path)
    else:
        log = store.create(program_name(parsed.job), identity, request.argv)
    with (
        log,
        runner,
        trial_directories(parsed, log.path, runner, host, in_place=request.in_place) as copies,
        cleaned_nodes(parsed.job, parsed.nodes, host) as after_ended_run,
    ):
        judge = Judge(Objective(), request.check_command)
        lab = Lab(runner, copies, log, judge, allocation_hosts(host))
        lab.after_ended_run = after_ended_run
        lab.describe_states = lambda states: describe_states(states, 0, host)
        yield ScaleState(request, lab, log, Budget(request.budget_s, clock=runner.clock), narrator)


def _study(state: ScaleState, parsed: ParsedJob, host: Host) -> Plan[None]:
    """Observe the command at its own size, measure all sizes, and record some of them."""
    request, lab, runs = state.request, state.lab, state.runs
    state.narrator.phase("As it is")
    is_whole = request.to_the_end or bool(request.check_command)
    how = Observing(
        records=state.log.path / RECORDS,
        mark_options=None if is_whole else _mark_options(state, parsed, host),
        budget=state.budget,
    )
    observed = state.observed = yield from observe(lab, parsed, host, state.narrator, how)
    if observed.marks is not None and lab.judge.at_mark is not None:
        keep_marks(state.log, observed.marks)
        lab.judge.at_mark = replace(lab.judge.at_mark, is_any_size=True)
        lab.judge.marks_of_length = None  # the time of a step is compared, without start-up
    launches = state.launches = launches_of(request, lab.situation, host)
    runs.walls_s[launches.own_size] = lab.situation.observation.wall_s
    sizes = launches.sizes()
    runs.left_out = {size: why for size in sizes if (why := launches.why_not(size))}
    state.narrator.phase("Scaling")

    def make_run(size: Size, block: int, limit_s: float) -> Run:
        situation = launches.situation_at(size)
        return Run(launches.configuration(size), Phase.SEARCH, block, limit_s, situation=situation)

    sizes_to_measure = SizesToMeasure(sizes, make_run, state.budget, request.weak, launches.between)
    yield from measure_sizes(sizes_to_measure, runs)
    if not runs.interrupted:
        yield from _record_sizes(state, host)


def _mark_options(state: ScaleState, parsed: ParsedJob, host: Host) -> MarkOptions:
    """Return options for step markers by which all blocks of all sizes fit into the budget."""
    request = state.request
    situation = known_situation(parsed, host, EVERYTHING)
    launches = launches_of(request, situation, host)
    sizes = [size for size in launches.sizes() if not launches.why_not(size)]
    relative = (1.0 if request.weak else max(1.0, launches.own_size.cores / size.cores) for size in sizes)
    run_s = request.budget_s / (_BLOCKS * sum(relative) + _OWN_RUNS)
    return MarkOptions(
        WHOLE_RUNS * run_s,
        length_s=request.length_s,
        named=request.mark,
        fixed=kept_marks(state.log.read()) if _unfinished(state) else None,
        required=request.mark is not None,
        any_size=True,
    )


def _record_sizes(state: ScaleState, host: Host) -> Plan[None]:
    """Record the smallest size and the first one after the bend, to find out where the time goes.

    If that one fills several nodes, the largest size on one node is recorded as well: between these two the
    cores of a node share memory alike.
    """
    runs, launches, observed = state.runs, state.launches, state.observed
    assert launches is not None
    assert observed is not None
    if observed.recorded:
        state.recorded[launches.own_size] = observed.recorded[-1]
    measured = launches.curve(runs.times)
    if len(measured) < 2:
        return
    points = [(size.cores, time_of(runs.times[size]).value) for size in measured]
    bend = bend_of(points, is_weak=state.request.weak)
    bent = measured[bend[1] if bend else -1]
    per_node = {size for size in measured if size.nodes == 1 and size.cores * bent.nodes == bent.cores}
    to_record = {measured[0], bent, *per_node}
    for size in sorted(to_record - state.recorded.keys()):
        wall_s = runs.expected_s(size, is_weak=state.request.weak)
        directory = state.log.path / RECORDS / f"size-{state.lab.count + 1}"
        try:
            recorder = recorder_for(launches.situation, host)
            early_end = after(wall_s) if observed.marks else None
            limit_s = _LIMIT * wall_s + _SLACK_S
            run = recorded_run(launches.configuration(size), recorder, directory, limit_s, early_end)
            trial = yield replace(run, situation=launches.situation_at(size))
            state.recorded[size] = recorded_by(trial, state.lab, directory)
        except KeyboardInterrupt:
            runs.interrupted = True
            return
        except (MpiricError, OSError) as error:
            why = error.message if isinstance(error, MpiricError) else str(error.strerror)
            state.notes.append(f"{size} was not recorded, so that causes are not shown: {why}")
            return


def _report(state: ScaleState, trial: Trial) -> None:
    state.narrator.trial(trial, None, state.budget.remaining_s)


def _failure(trial: Trial) -> str:
    """Return why a size has no time, with the last line that the program printed."""
    reason = trial.reason or "the run failed"
    if trial.outcome is Outcome.TIMED_OUT:
        return reason
    for path in filter(None, (trial.stderr, trial.stdout)):
        lines = [line.strip() for line in read_tail(Path(path)).splitlines() if line.strip()]
        banner = next((at for at, line in enumerate(lines) if _BANNER.match(line)), len(lines))
        if banner:
            return f"{reason}; its last line: {lines[banner - 1][:200]!r}"
    return reason

"""Start of a tune: its log and its lab, where its runs end, then the runs of the unchanged command.

The log of ``--submit`` is created before the first job, and located again by later jobs.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from mpiric import knobs, mpis
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import RECORDS, keep_small
from mpiric.lab.failures import allocation_hosts, remove_rejected, withdraw_rejections
from mpiric.lab.judge import OUTPUTS, Judge
from mpiric.lab.lab import Lab, LoggedTrials
from mpiric.lab.probes import BetweenMarkers, FileTime
from mpiric.launchers import parse_command, with_parameters
from mpiric.model.configuration import Configuration, substitute
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.run import Narrator, Outcome, Phase, Plan, Run, Trial
from mpiric.profile.stuck import describe_states
from mpiric.schedulers import JOBS
from mpiric.tuning.events import TuneEvents, read_log
from mpiric.tuning.objective import Budget
from mpiric.tuning.store import EVENTS, Store, TuneLog
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job
from mpiric.workflows.trials.observe import Observing, observe, program_failed
from mpiric.workflows.trials.recorded_runs import recorder_for, runtime_with_marks
from mpiric.workflows.trials.step_markers import WHOLE_RUNS, MarkOptions, keep_marks, kept_marks
from mpiric.workflows.trials.users_lab import inputs_seen, trial_directories
from mpiric.workflows.tune.file_runs import layout_refusal
from mpiric.workflows.tune.space import check_names
from mpiric.workflows.tune.state import TuneRequest, TuneState

_ORIGINALS = 2  # number of runs of the command for an objective that is a part of a run
_COMPARED = (Phase.OBSERVE, Phase.SEARCH, Phase.PROOF)
_FILE_KNOBS = frozenset().union(
    *(knob.chosen_by for knob in knobs.all_knobs().values() if knob.acts_on_files)
)


def why_whole(request: TuneRequest) -> str:
    """Return the reason for complete runs, "" if runs may end at a step marker.

    Raises MpiricError if the user names a marker as well.
    """
    reasons = {
        "--to-the-end": request.to_the_end,
        "--in-place": request.in_place and request.mark is None,
        "--check: its command judges whole runs": bool(request.check_command),
        "--vary-ranks and --vary-nodes: other ranks make other calls": (
            request.allowed.vary_ranks or request.allowed.vary_nodes
        ),
        "--param: other arguments make other calls": bool(request.parameters),
        "--site: its defaults hold for whole runs": request.site,
        "--objective main, which is of whole runs": request.objective.text == "main",
        "--objective io, which is of whole runs": request.objective.text == "io",
        "--only io: bytes are safe at the end of whole runs": bool(request.only)
        and set(request.only) <= _FILE_KNOBS,
        "--objective command:…: it looks at what whole runs leave": bool(request.objective.command),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), "")
    if reason and request.mark is not None:
        option = reason.partition(":")[0]
        raise MpiricError(
            f"--mark ends runs at a mark, and {option} needs whole runs", hint="leave one of the two out"
        )
    return f"runs are whole because of {reason}" if reason else ""


def parse_request(request: TuneRequest, host: Host) -> ParsedJob:
    """Parse the command of a tune with the first value of each parameter, which is its baseline."""
    if request.parameters and request.site:
        raise MpiricError(
            "--param and --site cannot be combined: site defaults contain no arguments of a command",
            hint="give one of them",
        )
    baseline = request.baseline_parameters
    argv = substitute(request.argv, baseline)
    parsed = parse_job(argv, host, request.working_directory, request.environment, request.stdin)
    if not baseline:
        return parsed
    job = with_parameters(
        replace(parsed.job, template=request.argv, file_templates=request.file_templates), baseline
    )
    for name, values in request.parameters.items():
        for value in values:
            with_parameters(job, {name: value})  # raises if an option of the launcher cannot have it
    return replace(parsed, job=job)


def open_log(request: TuneRequest, job: Job) -> TuneLog:
    """Open the log of a tune: a new log, or the log of the tune to resume."""
    if request.into is not None:
        return Store().resume(request.into)
    store, identity = Store(request.store), job_identity(job)
    if request.resume:
        path = store.latest(identity).path
        if read_log(path / EVENTS).meta.get("parameters", {}) != request.baseline_parameters:
            raise MpiricError(
                "the tune to resume has another baseline: other parameters, or other first values",
                hint="leave out --param, which --resume takes from the tune, or start anew without --resume",
            )
        return store.resume(path)
    return _create_log(store, request, job)


def _create_log(store: Store, request: TuneRequest, job: Job) -> TuneLog:
    meta: dict[str, object] = {"objective": request.objective.text, "options": list(request.options)}
    meta |= {"parameters": request.baseline_parameters} if request.parameters else {}
    return store.create(program_name(job), job_identity(job), job.command, **meta)


@contextmanager
def open_tune(
    request: TuneRequest, parsed: ParsedJob, log: TuneLog, host: Host, narrator: Narrator, runner: Runner
) -> Iterator[TuneState]:
    """Prepare the lab of a tune; at the end, remove files that no later tune reads."""
    spent_s = 0.0 if request.begun_s is None else max(0.0, time.monotonic() - request.begun_s)
    budget = Budget(request.budget_s, request.max_runs, runner.clock, spent_s=spent_s)
    if request.ignore_lines:
        withdraw_rejections(log)
    with (
        runner,
        trial_directories(parsed, log.path, runner, host, in_place=request.in_place) as copies,
        cleaned_nodes(parsed.job, parsed.nodes, host) as after_ended_run,
    ):
        ignored = re.compile(request.ignore_lines) if request.ignore_lines else None
        judge = Judge(request.objective, request.check_command, request.allowed.rounding, ignored)
        lab = Lab(runner, copies, log, judge, allocation_hosts(host))
        lab.after_ended_run = after_ended_run
        lab.describe_states = lambda states: describe_states(states, parsed.job.ranks or 0, host)
        logged = LoggedTrials(trial for trial in lab.earlier if trial.phase in (Phase.SEARCH, Phase.PROOF))
        yield TuneState(request, log, lab, copies, budget, narrator, lab.earlier, logged)
        keep_small(log.path / RECORDS)
        remove_rejected(log.path / OUTPUTS)


def observe_command(
    state: TuneState, parsed: ParsedJob, host: Host, recorded_events: TuneEvents | None = None
) -> Plan[None]:
    """Run the unchanged command and fill in the facts that the runs show.

    ``recorded_events`` are the events of another job, which has recorded the command already.
    """
    request, log, lab = state.request, state.log, state.lab
    whole_because = why_whole(request)
    # A partial run is of no use if the user wants complete ones.
    is_never_stopped = request.to_the_end or (request.in_place and request.mark is None)
    options = None
    # After the job that recorded the command, other jobs use its markers, or make complete runs.
    fixed = kept_marks(log.read() if recorded_events is None else recorded_events)
    if not whole_because and (recorded_events is None or fixed is not None):
        required = recorded_events is not None or request.mark is not None
        limits = request.budget_s, request.after_s, request.length_s
        options = MarkOptions(*limits, request.mark, fixed, required=required)
    state.narrator.phase("As it is")
    how = Observing(
        request.allowed,
        compare=request.compare_output,
        records=log.path / RECORDS if recorded_events is None else None,
        mark_options=options,
        budget=None if is_never_stopped else state.budget,
    )
    observed = yield from observe(lab, parsed, host, state.narrator, how)
    state.copies.depend_on(inputs_seen(parsed.job, observed.recorded))
    situation = lab.situation
    try_layout = cache(partial(layout_refusal, situation, host, in_place=request.in_place))
    defaults = cache(partial(mpis.defaults_of, host, situation.mpi))
    lab.situation = replace(situation, try_layout=try_layout, read_library_defaults=defaults)
    lab.judge.until_safe = request.objective.text == "io"
    state.originals = observed.originals
    if not observed.notes and not observed.marks:
        state.originals += yield from _measure_parts(request, lab, host)
    if observed.marks:
        keep_marks(log, observed.marks, observed.originals)
    state.budget.spend(lab.count - len(state.earlier) if observed.marks else len(state.originals))
    state.run_s = situation.observation.wall_s
    state.recorded, state.notes = observed.recorded, [*observed.notes]
    state.marks = observed.marks
    state.marks_why = whole_because or observed.marks_why or f"{WHOLE_RUNS} whole runs fit into the budget"


def _measure_parts(request: TuneRequest, lab: Lab, host: Host) -> Plan[tuple[Trial, ...]]:
    """Measure parts of a run separately: start-up and main part, or the time in file operations.

    This applies to runs of the proof if the runtime can be loaded, and to all runs if the objective is such
    a part. Return the runs of the command that the objective needs. Raises MpiricError if the part cannot be
    measured.
    """
    if request.objective.text == "io":
        lab.probes = dict.fromkeys(_COMPARED, FileTime(recorder_for(lab.situation, host)))
    else:
        try:
            library = runtime_with_marks(lab.situation, host)
        except MpiricError as error:
            if request.objective.text != "main":
                return ()
            raise MpiricError(
                f"the time between MPI_Init and MPI_Finalize cannot be taken: {error.message}",
                hint="remove --objective main",
            ) from error
        if request.objective.text != "main":
            lab.probes = {Phase.PROOF: BetweenMarkers(library=library)}
            return ()
        lab.probes = dict.fromkeys(_COMPARED, BetweenMarkers(library=library))
    originals = []
    for _ in range(_ORIGINALS):
        trial = yield Run(Configuration(), Phase.OBSERVE)
        if trial.outcome is not Outcome.OK:
            raise program_failed(lab.situation.job, trial, host)
        if trial.objective is None:
            raise ProgramFailedError(
                f"a run left no time for the objective {request.objective.text}",
                hint=f"does the program call MPI_Finalize? remove --objective {request.objective.text}",
            )
        originals.append(trial)
    return tuple(originals)


def tune_to_submit(request: TuneRequest) -> Path:
    """Return the directory of a submitted tune: a new one, or with ``resume`` the last submitted one."""
    check_names([*request.only, *request.without])
    job = parse_command(request.argv, request.working_directory, request.environment)
    store, identity = Store(request.store), job_identity(job)
    if request.resume:
        submitted = _submitted(store, identity)
        if not submitted:
            raise NotFoundError(
                f"no submitted tune of this command in {store.root}",
                hint="submit one without --resume, or name its store with --store DIR",
            )
        return submitted[-1].absolute()
    with _create_log(store, request, job) as log:
        return log.path.absolute()


def options_of_tune(
    argv: tuple[str, ...], working_directory: str, place: Path | None, *, submitted: bool
) -> tuple[str, ...]:
    """Return the options of the tune to continue; () without such a tune or without kept options."""
    store, identity = Store(place), job_identity(parse_command(argv, working_directory, {}))
    paths = _submitted(store, identity)
    if not submitted:
        try:
            paths = [store.latest(identity).path]
        except MpiricError:
            return ()  # reported where it is opened
    options = read_log(paths[-1] / EVENTS).meta.get("options") if paths else None
    return tuple(map(str, options)) if isinstance(options, list) else ()


def _submitted(store: Store, identity: str) -> list[Path]:
    of_job = (tune.path for tune in store.tunes() if tune.job == identity)
    return [path for path in of_job if is_file(path / JOBS)]

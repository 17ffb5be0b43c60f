"""Run a command with the recording runtime in its ranks, and say what the record means."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.host.processes.foreground import Ran, run_in_foreground
from mpiric.host.secrets import masked
from mpiric.model.errors import MpiricError, NotFoundError, after_run
from mpiric.model.launch import Launch
from mpiric.model.profile import NodeTopology, Profile
from mpiric.model.quoting import sh_command
from mpiric.model.record import Record
from mpiric.profile.analyse import analyse
from mpiric.profile.merge import merge_parts
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.tuning.marks.choice import choose_key, with_own_places
from mpiric.tuning.marks.named import mark_name
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job
from mpiric.workflows.profile.layouts import with_layouts
from mpiric.workflows.profile.missing_record import explain_missing_record, family_of
from mpiric.workflows.profile.record_directory import FAILING, directory_of, lock_emptied, unwritable
from mpiric.workflows.profile.report import with_others
from mpiric.workflows.profile.request import ProfileRequest
from mpiric.workflows.run.under_another import under_another, with_mpi
from mpiric.workflows.trials.recording import recorder_of

_FLUSH_S = 0.3  # for ranks to write out what they have buffered, before their run is ended


@dataclass(frozen=True)
class PreparedProfile:
    """What will be run."""

    launch: Launch
    parsed: ParsedJob
    directory: Path
    library: str  # absolute path of the runtime, "" where this installation has none to load
    why_not: MpiricError | None = None  # why it has none


@dataclass(frozen=True)
class Profiled:
    """What came of it; without a record there is a sentence that says why."""

    prepared: PreparedProfile
    ran: Ran
    record: Record | None
    profile: Profile | None
    why_not: MpiricError | None = None

    @property
    def pace(self) -> tuple[str | None, tuple[tuple[int, float], ...]]:
        """The call that counts the program's steps, as `--mark` names it, and when which of them came."""
        if self.record is None:
            return None, ()
        pace = with_own_places(run_pace(self.record))
        choice, first = choose_key(pace), pace.first_rank
        calls = first.of(choice.key) if first is not None and choice.key is not None else None
        if calls is None:
            return None, ()
        times = ((1 + index * calls.stride, time_s) for index, time_s in enumerate(calls.times_s))
        return mark_name(calls.key), tuple(times)


def prepare(request: ProfileRequest, host: Host) -> PreparedProfile:
    """The user's command with the runtime given to its ranks, and to nothing else."""
    if request.mpi:
        given = (request.argv, request.working_directory, request.environment)
        argv, environment = under_another(*given, request.mpi, host)
        request = replace(request, argv=argv, environment=environment, mpi="")
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    directory = directory_of(request, parsed.job.program[0])
    options = dict(request.options)
    if request.limit_s is not None:
        options["MPIRIC_FLUSH_AT"] = f"{time.time() + max(0.0, request.limit_s - _FLUSH_S):.3f}"
    family = request.family or family_of(parsed, host)
    try:
        recorder = recorder_of(parsed.job, family, options)
    except NotFoundError as error:
        return PreparedProfile(launchers.render(parsed.job, []), parsed, directory, "", error)
    spelled = [("profile", "on", recorder.spelling(directory))]
    return PreparedProfile(launchers.render(parsed.job, spelled), parsed, directory, recorder.library)


def profile(request: ProfileRequest, host: Host) -> Profiled:
    """Run it; the program's own failure is no error of ours, and what its ranks recorded is still read.

    Raises AfterRunError for what fails when the program has ended.
    """
    prepared = prepare(request, host)
    if reason := _why_not(prepared, host):
        return _unrecorded(prepared, request, reason, host)
    try:
        lock = lock_emptied(prepared.directory)
    except OSError as error:
        why_not = unwritable(prepared.directory, error)
        if error.errno not in FAILING:
            raise why_not from error
        return _unrecorded(prepared, request, why_not, host)
    try:
        ran = _run(prepared, request, host)
        with after_run(ran.status):
            return _read_profile(prepared, ran, request, host)
    finally:
        with suppress(OSError):
            lock.release()


def _why_not(prepared: PreparedProfile, host: Host) -> MpiricError | None:
    """Why the ranks cannot be given the runtime; None where they can."""
    if missing := prepared.why_not:
        return MpiricError(f"nothing was recorded: {missing.message}", hint=missing.hint)
    reason = why_not_loadable(prepared.parsed.job, prepared.library, host)
    return MpiricError(f"nothing was recorded: {reason}") if reason else None


def _run(prepared: PreparedProfile, request: ProfileRequest, host: Host) -> Ran:
    """Run the command, and clean its nodes when it did not end by itself."""
    job = prepared.parsed.job
    with cleaned_nodes(job, prepared.parsed.nodes, host) as after_ended_run:
        ran = run_in_foreground(prepared.launch, job.environment, request.output, request.limit_s)
        if ran.status or ran.was_ended:
            after_ended_run()
    return ran


def _unrecorded(
    prepared: PreparedProfile, request: ProfileRequest, why_not: MpiricError, host: Host
) -> Profiled:
    """Run the command as it is, where nothing can be recorded."""
    untouched = replace(prepared, launch=launchers.render(prepared.parsed.job, []))
    ran = _run(untouched, request, host)
    return Profiled(untouched, ran, None, None, why_not)


def _read_profile(prepared: PreparedProfile, ran: Ran, request: ProfileRequest, host: Host) -> Profiled:
    directory, machine = prepared.directory, prepared.parsed.machine
    merge_parts(directory)
    try:
        record = read_record(directory)
    except MpiricError as error:
        return Profiled(prepared, ran, None, None, explain_missing_record(error, prepared.parsed, host))
    analysed = analyse(record, sh_command(masked(request.argv)))
    analysed = with_layouts(analysed, record, host, prepared.parsed.job.working_directory)
    found = with_others(name_sites(analysed, host), directory)
    shape = NodeTopology(machine.host_name, machine.topology.cores)
    advice = tuple(
        replace(each, commands=tuple(with_mpi(command, request.mpi) for command in each.commands))
        for each in found.advice
    )
    return Profiled(prepared, ran, record, replace(found, shape=shape, advice=advice, asked_mpi=request.mpi))

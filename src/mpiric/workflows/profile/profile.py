"""Run a command with the recording runtime in its ranks, and say what the record means."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.host.secrets import masked
from mpiric.lab.foreground import Foreground
from mpiric.lab.probes import WholeRun
from mpiric.lab.recording import Recorder, recorder_of
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError, after_run
from mpiric.model.launch import Launch
from mpiric.model.profile import NodeTopology, Profile
from mpiric.model.quoting import sh_command
from mpiric.model.record import Record
from mpiric.model.run import Run
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.profile.analyse import analyse
from mpiric.profile.merge import merge_parts
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.tuning.marks.choice import choose_key, without_library_places
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

_FLUSH_S = 0.3  # for ranks to write out what they have buffered, before their run is ended


@dataclass(frozen=True)
class PreparedProfile:
    """What will be run."""

    parsed: ParsedJob
    directory: Path
    recorder: Recorder | None  # None where this installation has no runtime to load
    why_not: MpiricError | None = None  # why it has none

    @property
    def launch(self) -> Launch:
        """The command as it is run; as it is where nothing can be recorded."""
        return _render(self.parsed, self.recorder.spelling(self.directory) if self.recorder else None)


@dataclass(frozen=True)
class Profiled:
    """What came of it; without a record there is a sentence that says why."""

    prepared: PreparedProfile
    trial: Trial
    record: Record | None
    profile: Profile | None
    why_not: MpiricError | None = None

    @property
    def was_ended(self) -> bool:
        """Whether the program was ended at the limit."""
        return self.trial.outcome is Outcome.TIMED_OUT

    @property
    def status(self) -> int:
        """The program's own exit status; 0 when it ran well until it was ended at the limit."""
        return 0 if self.was_ended else self.trial.exit_status

    @property
    def pace(self) -> tuple[str | None, tuple[tuple[int, float], ...]]:
        """The call that counts the program's steps, as `--mark` names it, and when which of them came."""
        if self.record is None:
            return None, ()
        pace = without_library_places(run_pace(self.record))
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
        return PreparedProfile(parsed, directory, None, error)
    return PreparedProfile(parsed, directory, recorder)


def profile(request: ProfileRequest, host: Host) -> Profiled:
    """Run it; the program's own failure is no error of ours, and what its ranks recorded is still read.

    Raises AfterRunError for what fails when the program has ended.
    """
    prepared = prepare(request, host)
    parsed = prepared.parsed
    job, lock = parsed.job, None
    why_not = prepared.why_not
    if prepared.recorder is not None and (reason := why_not_loadable(job, prepared.recorder.library, host)):
        why_not = MpiricError(reason)
    if why_not is not None:
        why_not = MpiricError(f"nothing was recorded: {why_not.message}", hint=why_not.hint)
    else:
        try:
            lock = lock_emptied(prepared.directory)
        except OSError as error:
            why_not = unwritable(prepared.directory, error)
            if error.errno not in FAILING:
                raise why_not from error
    try:
        probe = None if why_not else WholeRun(prepared.recorder, prepared.directory, keeps_files=True)
        with cleaned_nodes(job, parsed.nodes, host) as after_ended_run:
            lab = Foreground(
                lambda _, spelling: _render(parsed, spelling),
                job.environment,
                request.output,
                after_ended_run=after_ended_run,
            )
            trial = lab.measure(Run(Configuration(), Phase.RECORD, limit_s=request.limit_s, probe=probe))
        if why_not is not None:
            return Profiled(replace(prepared, recorder=None), trial, None, None, why_not)
        with after_run(trial.exit_status):
            return _read_profile(prepared, trial, request, host)
    finally:
        if lock is not None:
            with suppress(OSError):
                lock.release()


def _render(parsed: ParsedJob, spelling: Spelling | None) -> Launch:
    return launchers.render(parsed.job, [("profile", "on", spelling)] if spelling else [])


def _read_profile(prepared: PreparedProfile, trial: Trial, request: ProfileRequest, host: Host) -> Profiled:
    directory, machine = prepared.directory, prepared.parsed.machine
    merge_parts(directory)
    try:
        record = read_record(directory)
    except MpiricError as error:
        return Profiled(prepared, trial, None, None, explain_missing_record(error, prepared.parsed, host))
    analysed = analyse(record, sh_command(masked(request.argv)))
    analysed = with_layouts(analysed, record, host, prepared.parsed.job.working_directory)
    found = with_others(name_sites(analysed, host), directory)
    shape = NodeTopology(machine.host_name, machine.topology.cores)
    advice = tuple(
        replace(each, commands=tuple(with_mpi(command, request.mpi) for command in each.commands))
        for each in found.advice
    )
    return Profiled(
        prepared, trial, record, replace(found, shape=shape, advice=advice, asked_mpi=request.mpi)
    )

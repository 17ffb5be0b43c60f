"""Run a command with the recording runtime in its ranks, and analyse the record."""

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.host.command_log import masked
from mpiric.host.host import Host
from mpiric.host.processes.output_tap import OutputTap
from mpiric.lab.directory_runs import Recorder, recorder_of
from mpiric.lab.endings import FailedRun, OutputTail, explain_ending, unknown_ending
from mpiric.lab.foreground import Foreground
from mpiric.lab.probes import WholeRun
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError, after_run
from mpiric.model.job import Launch, Spelling
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import Advice, FileTotal, NodeTopology, Profile
from mpiric.model.quoting import sh_command
from mpiric.model.record import RankState, Record
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.model.translation import family_above
from mpiric.profile.advise import advise
from mpiric.profile.analyse import analyse
from mpiric.profile.files import ranks_in_one_stripe
from mpiric.profile.numbers import layout_numbers
from mpiric.profile.outside_time import hosts_line, outside_advice, run_parts, with_outside
from mpiric.profile.pace import run_pace
from mpiric.profile.read import merge_parts, read_record, states_at_end
from mpiric.profile.sites import name_sites
from mpiric.profile.stuck import init_advice
from mpiric.storage import layouts_of
from mpiric.tuning.mark_choice import choose_key, mark_name, without_library_places
from mpiric.workflows.launch.findings import ranks_alone, ranks_of_other_family
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job, program_path
from mpiric.workflows.placement.verify import judge_record, variables_that_bind
from mpiric.workflows.profile.request import FAILING, ProfileRequest, directory_of, lock_emptied, unwritable
from mpiric.workflows.run.run import with_mpi, with_values
from mpiric.workflows.trials.last_look import look_at_ranks
from mpiric.workflows.trials.recorded_runs import with_others, with_stuck

_FLUSH_S = 0.3  # time for ranks to write their buffers before the run is ended
_MOST_FILES = 32  # the most expensive files; each may need a query to a server


@dataclass(frozen=True)
class PreparedProfile:
    """Launch of a profile, before it is started."""

    parsed: ParsedJob
    directory: Path
    recorder: Recorder | None  # None if this installation has no runtime for it
    why_not: MpiricError | None = None  # reason for the missing runtime

    @property
    def launch(self) -> Launch:
        """Return the command with the runtime, or the unchanged command if nothing can be recorded."""
        return _render(self.parsed, self.recorder.spelling(self.directory) if self.recorder else None)


@dataclass(frozen=True)
class Profiled:
    """Result of a profile; ``why_not`` is set without a record."""

    prepared: PreparedProfile
    trial: Trial
    record: Record | None
    profile: Profile | None
    why_not: MpiricError | None = None
    ending: Advice | None = None  # why the command failed, if it is known

    @property
    def was_ended(self) -> bool:
        """Return whether the program was ended at the limit."""
        return self.trial.outcome is Outcome.TIMED_OUT

    @property
    def status(self) -> int:
        """Return the exit status of the program; 0 if it ran well until the limit."""
        return 0 if self.was_ended else self.trial.exit_status

    @property
    def pace(self) -> tuple[str | None, tuple[tuple[int, float], ...]]:
        """Step marker as `--mark` names it, with numbers and times of the steps."""
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
    """Prepare the user's command with the runtime in its ranks only."""
    if request.mpi:
        job = (request.argv, request.working_directory, request.environment)
        argv, environment = with_values(*job, {"mpi": request.mpi}, host)
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
    """Run the command and read the record, also after a failure of the program.

    Raises AfterRunError for an error after the end of the program.
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
            tail, is_relayed = OutputTail(host), bool(job.launcher_words)

            def look_before_end() -> None:
                tail.is_complete = True
                look_at_ranks(prepared.directory, job.ranks or 0)

            lab = Foreground(
                lambda _, spelling: _render(parsed, spelling),
                job.environment,
                request.output,
                OutputTap(tail.feed, through_launcher=is_relayed),
                OutputTap(tail.feed, through_launcher=is_relayed, stream=sys.stderr),
                after_ended_run=after_ended_run,
                before_end=look_before_end,
            )
            launched_unix_s = time.time()
            trial = lab.measure(Run(Configuration(), Phase.RECORD, limit_s=request.limit_s, probe=probe))
        failed = tail.failed_run(job, trial.exit_status)
        if why_not is not None:
            done = Profiled(replace(prepared, recorder=None), trial, None, None, why_not)
            return _with_ending(done, failed, host)
        with after_run(trial.exit_status):
            done = _read_profile(prepared, trial, request, host, launched_unix_s)
            return _with_ending(done, failed, host)
    finally:
        if lock is not None:
            with suppress(OSError):
                lock.release()


def _with_ending(done: Profiled, failed: FailedRun, host: Host) -> Profiled:
    """Add the cause of a failure, in front of the other advice.

    A run that was ended without a record has failed if its output says so: ranks may hang in a failing
    MPI_Init.
    """
    advice = done.profile.advice if done.profile else ()
    if done.record is None and (alone := ranks_of_other_family(failed.job, failed.text, host)):
        return replace(done, ending=alone)
    ranks = done.record.ranks if done.record else ()
    failed = replace(
        failed,
        namespaces=_namespaces_of_a_node(done.record),
        aborted_rank=next((rank.rank for rank in ranks if rank.state is RankState.ABORTED), None),
    )
    if done.trial.outcome is Outcome.FAILED:
        is_explained = any(item.explains_run for item in advice)
        ending = explain_ending(failed, host) or (None if is_explained else unknown_ending(failed))
    elif done.was_ended and done.record is None:
        ending = explain_ending(failed, host) or done.ending
    else:
        return done
    profile = replace(done.profile, advice=(ending, *advice)) if done.profile and ending else done.profile
    return replace(done, profile=profile, ending=ending)


def _namespaces_of_a_node(record: Record | None) -> tuple[str, ...]:
    """Return the namespaces of the ranks of a node, if its ranks are in different ones."""
    for key in ("namespace.user", "namespace.pid"):
        of_nodes: dict[str, dict[str, None]] = {}
        for facts in [rank.facts for rank in record.ranks if key in rank.facts] if record else []:
            of_nodes.setdefault(facts.get("host", ""), {})[facts[key]] = None
        if different := next((tuple(names) for names in of_nodes.values() if len(names) > 1), ()):
            return different
    return ()


def _render(parsed: ParsedJob, spelling: Spelling | None) -> Launch:
    return launchers.render(parsed.job, [("profile", "on", spelling)] if spelling else [])


def _read_profile(
    prepared: PreparedProfile, trial: Trial, request: ProfileRequest, host: Host, launched_unix_s: float
) -> Profiled:
    directory, machine = prepared.directory, prepared.parsed.machine
    merge_parts(directory)
    try:
        record = read_record(directory)
    except MpiricError as error:
        why_not = explain_missing_record(error, prepared.parsed, host)
        if why_not is error and trial.outcome is Outcome.TIMED_OUT:
            why_not = NotFoundError(
                "no rank had returned from MPI_Init when the run was ended",
                hint="find out which rank does not call it (`mpiric ps` in another terminal shows them), or "
                "give the program more time",
            )
            _, states = states_at_end(directory)
            ending = init_advice(states, prepared.parsed.job.ranks or 0, host)
            return Profiled(prepared, trial, None, None, why_not, ending)
        return Profiled(prepared, trial, None, None, why_not)
    usable_cpus = {machine.host_name: machine.usable_cpu_count}
    analysed = analyse(record, sh_command(masked(request.argv)), usable_cpus)
    is_only_record = not any(directory.glob("record-*.mpiric"))
    is_whole = trial.outcome is Outcome.OK and is_only_record
    parts = run_parts(record, machine.host_name, launched_unix_s, trial.wall_s) if is_whole else None
    if parts is not None:
        analysed = replace(analysed, numbers={**analysed.numbers, **parts.numbers})
    analysed = with_layouts(analysed, record, host, prepared.parsed.job.working_directory)
    profile_ = with_stuck(with_others(name_sites(analysed, host), directory), record, host)
    shape = NodeTopology(machine.host_name, machine.topology.cores)
    advice = tuple(
        replace(item, commands=tuple(with_mpi(command, request.mpi) for command in item.commands))
        for item in profile_.advice
    )
    advice = _name_binding_variable(advice, record, prepared.parsed)
    outside = outside_advice(parts, hosts_line(machine)) if parts else None
    advice = with_outside(advice, outside) if outside else advice
    alone = ranks_alone(prepared.parsed.job, record, host)
    advice = (alone,) if alone else advice
    return Profiled(
        prepared, trial, record, replace(profile_, shape=shape, advice=advice, asked_mpi=request.mpi)
    )


def _name_binding_variable(
    advice: tuple[Advice, ...], record: Record, parsed: ParsedJob
) -> tuple[Advice, ...]:
    """Let the advice on ranks that share a CPU name the variable that binds them, if there is one."""
    if not variables_that_bind(parsed.job):
        return advice
    findings = {finding.id: finding for finding in judge_record(record, parsed.machine, parsed.job)}
    overlap = findings.get("ranks-overlap")
    return tuple(
        replace(item, finding=replace(overlap, id=item.finding.id), knobs=(), commands=())
        if overlap and item.finding.id == "ranks-share-a-cpu"
        else item
        for item in advice
    )


def explain_missing_record(error: MpiricError, parsed: ParsedJob, host: Host) -> MpiricError:
    """Return an error that explains why nothing was recorded, if the executable shows the reason."""
    path = program_path(parsed.job, host)
    elf = host.elf(path) if path else None
    if elf is None or elf.interpreter:
        return error
    return NotFoundError(
        f"{error.message}: {path} is linked statically, so that mpiric's recording library cannot be loaded",
        hint="link it to a shared MPI library; `mpiric tune` and `mpiric place --verify` work without that",
    )


def family_of(parsed: ParsedJob, host: Host) -> AbiFamily:
    """Return the ABI family of the program's MPI library. Raises NotFoundError if it is unknown."""
    path = program_path(parsed.job, host)
    of_program = mpis.abi_of_program(host, path) if path else None
    if of_program is not None:
        return of_program
    if parsed.mpi is not None and (family := family_above(parsed.mpi)):
        return family
    raise NotFoundError(
        f"the MPI library of {parsed.job.program[0]} is unknown before it runs",
        hint="name its ABI family: --abi mpich, --abi openmpi or --abi standard",
    )


def with_layouts(profile: Profile, record: Record, host: Host, working_directory: str) -> Profile:
    """Add the layouts of the most expensive files, and whether two ranks wrote to one stripe."""
    paths = {
        file.path: os.path.join(working_directory, file.path)  # noqa: PTH118 kept as it is when absolute
        for file in [file for file in profile.files if file.interface != "stream"][:_MOST_FILES]
    }
    layouts = layouts_of(host, tuple(dict.fromkeys(paths.values())))

    def with_layout(file: FileTotal) -> FileTotal:
        layout = layouts.get(paths.get(file.path, ""))
        if layout is None or file.interface == "stream":
            return file
        return replace(
            file, layout=layout, ranks_in_one_stripe=ranks_in_one_stripe(record, file.path, layout)
        )

    files = tuple(map(with_layout, profile.files))
    numbers = {**profile.numbers, **layout_numbers(files, sum(rank.time_s for rank in profile.ranks))}
    completed = replace(profile, files=files, numbers=numbers)
    return replace(completed, advice=advise(completed))

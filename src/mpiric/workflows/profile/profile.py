"""Run a command with the recording runtime in its ranks, and say what the record means."""

import errno
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.host.processes.foreground import Output, Ran, run_in_foreground
from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError, after_run
from mpiric.model.job import Job
from mpiric.model.launch import Launch
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.profile import NodeTopology, Profile
from mpiric.model.record import Record
from mpiric.model.spelling import Spelling
from mpiric.profile.analyse import analyse
from mpiric.profile.merge import merge_parts
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.tuning.store.lock import Lock
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job, program_path
from mpiric.workflows.profile.report import with_others

_LIBRARY = "libmpiric.so"
_OURS = ("record*.mpiric", "rank-*.part", "merging.*", "report.html", "report.json")
_LOCK = ".profiling"
# What a file system has come to, as opposed to a name that never could have been written to.
_FAILING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})


@dataclass(frozen=True)
class ProfileRequest:
    """The options of `mpiric profile`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path | None = None  # of the record; None for a new one in the working directory
    family: AbiFamily | None = None  # for programs whose MPI only shows when they run
    output: Output = Output.STDOUT
    limit_s: float | None = None  # after which the run is ended and what was recorded counts
    options: Mapping[str, str] = field(default_factory=dict)  # of the runtime, as spec/options.toml has them


@dataclass(frozen=True)
class PreparedProfile:
    """What will be run."""

    launch: Launch
    parsed: ParsedJob
    directory: Path


@dataclass(frozen=True)
class Profiled:
    """What came of it; without a record there is a sentence that says why."""

    prepared: PreparedProfile
    ran: Ran
    record: Record | None
    profile: Profile | None
    why_not: MpiricError | None = None


def prepare(request: ProfileRequest, host: Host) -> PreparedProfile:
    """The user's command with the runtime given to its ranks, and to nothing else."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    directory = (request.directory or _new_directory(request, parsed.job)).absolute()
    library = native_part(_LIBRARY, request.family or _family(parsed, host))
    # Ranks that a script starts elsewhere may lack the runtime: then nobody may wait for their part.
    merge = "tree" if parsed.job.launcher_words else "never"
    spelling = Spelling(
        environment={"MPIRIC_MERGE": merge, **request.options},
        preload=(library,),
        directories={"MPIRIC_RECORD_DIR": str(directory)},
    )
    return PreparedProfile(launchers.render(parsed.job, [("profile", "on", spelling)]), parsed, directory)


def profile(request: ProfileRequest, host: Host) -> Profiled:
    """Run it; the program's own failure is no error of ours, and what its ranks recorded is still read.

    Raises AfterRunError for what fails when the program has ended.
    """
    prepared = prepare(request, host)
    job = prepared.parsed.job
    try:
        lock = _make_ready(prepared.directory)
    except OSError as error:
        why_not = _unwritable(prepared.directory, error)
        if error.errno not in _FAILING:
            raise why_not from error
        unrecorded = replace(prepared, launch=launchers.render(job, []))
        ran = run_in_foreground(unrecorded.launch, job.environment, request.output, request.limit_s)
        return Profiled(unrecorded, ran, None, None, why_not)
    try:
        ran = run_in_foreground(prepared.launch, job.environment, request.output, request.limit_s)
        with after_run(ran.status):
            return _understood(prepared, ran, shlex.join(request.argv), host)
    finally:
        with suppress(OSError):
            lock.release()


def _understood(prepared: PreparedProfile, ran: Ran, command: str, host: Host) -> Profiled:
    directory, machine = prepared.directory, prepared.parsed.machine
    merge_parts(directory)
    try:
        record = read_record(directory)
    except MpiricError as error:
        return Profiled(prepared, ran, None, None, _explained(error, prepared.parsed, host))
    found = with_others(name_sites(analyse(record, command), host), directory)
    shape = NodeTopology(machine.host_name, machine.topology.cores)
    return Profiled(prepared, ran, record, replace(found, shape=shape))


def _explained(error: MpiricError, parsed: ParsedJob, host: Host) -> MpiricError:
    """Why nothing was recorded, where the program's file shows it."""
    path = program_path(parsed.job, host)
    elf = host.elf(path) if path else None
    if elf is None or elf.interpreter:
        return error
    return NotFoundError(
        f"{error.message}: {path} is linked statically, so that nothing can be loaded into its ranks",
        hint="link it with shared libraries, at least with that of MPI",
    )


def _family(parsed: ParsedJob, host: Host) -> AbiFamily:
    path = program_path(parsed.job, host)
    of_program = mpis.abi_of_program(host, path) if path else None
    if of_program is not None:
        return of_program
    if parsed.mpi is not None:
        return parsed.mpi.abi_families[0]
    raise NotFoundError(
        f"which MPI library {parsed.job.program[0]} uses only shows when it runs",
        hint="name its family: --abi mpich, --abi openmpi or --abi standard",
    )


def new_directory(request: ProfileRequest) -> Path:
    """Made at once: where the record of a profile that is to be submitted will be."""
    job = launchers.parse_command(request.argv, request.working_directory, {})
    directory = (request.directory or _new_directory(request, job)).absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(directory, error) from error
    return directory


def _new_directory(request: ProfileRequest, job: Job) -> Path:
    name = Path(job.program[0]).name
    return Path(request.working_directory) / f"mpiric-profile-{name}-{datetime.now():%Y%m%d-%H%M%S}"


def _make_ready(directory: Path) -> Lock:
    """An empty place for the record, ours alone: what an earlier profile left goes, other files stay."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = Lock.take(directory / _LOCK)
    for pattern in _OURS:
        for path in directory.glob(pattern):
            path.unlink()
    return lock


def _unwritable(directory: Path, error: OSError) -> NoRoomError:
    return NoRoomError(
        f"{directory} cannot be written: {error.strerror}", hint="name another directory with -o"
    )

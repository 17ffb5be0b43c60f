"""The user's command and this machine → Job, Machine and the MPI library that the launcher belongs to."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.host.installation.stand_ins import preloaded_stand_in
from mpiric.machine import read_machine
from mpiric.model.errors import MismatchError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.quoting import sh_command
from mpiric.model.situation import Observation
from mpiric.model.translation import family_above
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.launch.missing_launcher import missing_launcher
from mpiric.workflows.launch.nodes import node_count, with_host_files
from mpiric.workflows.launch.singletons import singletons, start_alone
from mpiric.workflows.launch.switchable import two_families

LOG = logging.getLogger(__package__)


@dataclass(frozen=True)
class ParsedJob:
    """What is known before anything was run; ``mpi`` is None when only a run can show it.

    It has no launcher where that of the line is going to be replaced, as its library does not serve the
    program: it is of another ABI family, or where the program does not find it.
    """

    job: Job
    machine: Machine
    mpi: MpiLibrary | None
    others: tuple[MpiLibrary, ...]
    nodes: int = 1


def parse_job(
    argv: Sequence[str],
    host: Host,
    working_directory: str,
    environment: Mapping[str, str],
    stdin: str = "",
    *,
    takes_another_mpi: bool = False,
) -> ParsedJob:
    """Read the command line. Raises MpiricError for one that cannot work, before anything is run.

    ``takes_another_mpi``: a library is going to be named, so that the launcher may be one of any other.
    """

    def is_program(word: str) -> bool:
        path = word if word.startswith("/") else f"{working_directory}/{word}"
        return host.is_executable(path) if "/" in word else host.which(word, by_shell=True) is not None

    word = launchers.ambiguous_launcher_word(argv)
    if (launcher := launchers.launcher_word(argv)) and host.which(launcher, by_shell=True) is None:
        usual = launchers.parse_command(argv, working_directory, environment, is_program=is_program)
        raise missing_launcher(usual, program_path(usual, host), host)
    job = launchers.parse_command(
        argv,
        working_directory,
        environment,
        stdin,
        dialect=dialect_of(word, host) if word else None,
        is_program=is_program,
    )
    job = with_host_files(job, host)
    if not (job.launcher_words or job.prefix or job.container or is_program(job.program[0])):
        raise NotFoundError(
            f"{job.program[0]!r} is no program that can be run here",
            hint="write your own launch line after '--', such as: -- mpirun -n 4 ./app",
        )
    libraries = mpis.find_mpis(host)
    mpi = mpis.mpi_of_launcher(host, job.launcher_words[0]) if job.launcher_words else None
    program_abi = _abi_of_program(job, host)
    mpi = _with_stand_in(mpi, job, host) if mpi is not None else None
    others = tuple(library for library in libraries if mpi is None or library.library != mpi.library)
    if mpi and program_abi:
        belongs = program_abi in (family_above(mpi), *mpi.abi_families)
        path = program_path(job, host)
        if not belongs:
            _refuse_two_families(mpis.mpi_names(host, (path, *mpis.libraries_needed_by(host, path))))
        if not belongs and not takes_another_mpi:
            raise singletons(job, mpi, program_abi, libraries)
        if takes_another_mpi and not (belongs and _is_found(mpi, path, host)):
            mpi, others = replace(mpi, launcher="", abi_families=(program_abi,)), tuple(libraries)
    machine = read_machine(host, working_directory)
    LOG.info("launcher: %s", sh_command(job.launcher_words[:1]) or "none: the command starts one process")
    LOG.info("MPI library: %s", f"{mpi.label} ({mpi.library})" if mpi else "to be seen in a run")
    LOG.debug("other MPI libraries: %s", ", ".join(library.label for library in others) or "none")
    return ParsedJob(job, machine, mpi, others, node_count(job, host))


def resolve_mpi(parsed: ParsedJob, observation: Observation, host: Host) -> MpiLibrary:
    """The library the ranks really loaded; raises MismatchError when it is not the launcher's."""
    # What is mapped has the full version in its name (libmpi.so.40.30.4): the file itself says its soname.
    loaded = {
        path
        for rank in observation.ranks
        for path in rank.libraries
        if path.rsplit("/", 1)[-1].startswith("libmpi")
    }
    loaded_mpi = next(
        (library for library in (mpis.mpi_of_library(host, p) for p in sorted(loaded)) if library), None
    )
    mpi = parsed.mpi
    if mpi is not None and (mpi.stand_in or not mpi.launcher):
        return mpi
    if mpi is None:
        if loaded_mpi is None:
            raise NotFoundError(
                "no rank of the program was seen to load an MPI library",
                hint="give the launch line itself after --, for example: mpiric tune -- mpirun -n 2 ./app",
            )
        return loaded_mpi
    if loaded_mpi is None or host.real_path(loaded_mpi.library) == host.real_path(mpi.library):
        return mpi
    job, everyone = parsed.job, (loaded_mpi, *parsed.others)
    _refuse_two_families(observation.mpi_names)
    if not set(loaded_mpi.abi_families) & set(mpi.abi_families):
        raise singletons(
            job, mpi, loaded_mpi.abi_families[0], everyone, f"{loaded_mpi.label} ({loaded_mpi.library})"
        )
    # The program's own rpath or LD_LIBRARY_PATH brought another member of the family.
    if start_alone(job, loaded_mpi, host):
        raise singletons(
            job, mpi, loaded_mpi.abi_families[0], everyone, f"{loaded_mpi.label} ({loaded_mpi.library})"
        )
    return replace(loaded_mpi, launcher=mpi.launcher, dialect=mpi.dialect)


def serving(parsed: ParsedJob, mpi: MpiLibrary, observation: Observation, host: Host) -> ParsedJob:
    """The same with every library of the program's family made ready to serve it, the launcher's own too."""
    everyone = (*((parsed.mpi,) if parsed.mpi else ()), *parsed.others)
    program = program_path(parsed.job, host)
    linked = (program, *mpis.libraries_needed_by(host, program)) if program else ()
    paths = (path for rank in observation.ranks for path in (rank.program, *rank.libraries))
    files = dict.fromkeys((*paths, *linked))
    names, calls = observation.mpi_names, observation.mpi_calls
    others = ready_to_serve(everyone, names, mpi, host, calls, tuple(files))
    return replace(parsed, others=others)


def mpi_of_program(parsed: ParsedJob, host: Host) -> MpiLibrary:
    """The library the executable is linked to, for launchers that serve every MPI (srun)."""
    path = program_path(parsed.job, host)
    needed = mpis.mpi_needed_by(host, path) if path else ""
    mpi = mpis.mpi_of_library(host, needed) if needed else None
    if mpi is None:
        raise NotFoundError(
            f"which MPI library {parsed.job.program[0]} uses only shows when it runs",
            hint="a recipe of `mpiric tune` for this command knows it",
        )
    return mpi


def libraries_of_program(parsed: ParsedJob, host: Host) -> tuple[str, ...]:
    """Shared objects the executable is linked to, by itself and through others."""
    path = program_path(parsed.job, host)
    return mpis.libraries_needed_by(host, path) if path else ()


def program_path(job: Job, host: Host) -> str:
    """Where the program's file is; "" inside a container or when it is not found."""
    if job.container is not None:
        return ""
    word = job.program[0]
    found = word if "/" in word else host.which(word, by_shell=True) or ""
    return found if found.startswith("/") or not found else f"{job.working_directory}/{found}"


def dialect_of(word: str, host: Host) -> str | None:
    """The dialect of a launcher by whose name alone it cannot be told (``mpiexec``), None when unknown."""
    library = mpis.mpi_of_launcher(host, word)
    if library is not None:
        return library.dialect
    # A scheduler's launcher with the name of the libraries' own: PALS's mpiexec.
    path = word if "/" in word else host.which(word, by_shell=True) or ""
    known = launchers.recognise_launcher(mpis.launcher_text(host, path)) if path else None
    return known[0] if known else None


def _with_stand_in(mpi: MpiLibrary, job: Job, host: Host) -> MpiLibrary:
    """The launcher's library, with the stand-in that the command itself gives the ranks for it."""
    stand_in, library = preloaded_stand_in(launchers.given_to_ranks(job, "LD_PRELOAD"))
    if stand_in and not host.is_file(library):
        where = f"{library}, which is not here" if library else "no library: no file `library` is beside it"
        raise NotFoundError(
            f"the stand-in {stand_in} leads to {where}",
            hint="mpiric mpi stand-in writes one that leads to a library of this machine",
        )
    is_its_own = library and host.real_path(library) == host.real_path(mpi.library)
    return replace(mpi, stand_in=stand_in) if is_its_own else mpi


def _is_found(mpi: MpiLibrary, path: str, host: Host) -> bool:
    """Whether a program finds an MPI library as things stand."""
    return bool(mpi.stand_in) or "/" in mpis.mpi_needed_by(host, path)


def _refuse_two_families(names: Iterable[str]) -> None:
    if both := two_families(names):
        raise MismatchError(f"the program {both}", hint="link it and all its libraries to one of them")


def _abi_of_program(job: Job, host: Host) -> AbiFamily | None:
    path = program_path(job, host)
    return mpis.abi_of_program(host, path) if path else None

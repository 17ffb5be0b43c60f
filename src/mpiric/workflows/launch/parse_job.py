"""Conversion of the user's command to a Job, with the machine and the launcher's MPI library."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from posixpath import dirname

from mpiric import launchers, mpis
from mpiric.host.host import HERE, Host
from mpiric.host.installation.native import library_under_name, native_part
from mpiric.host.installation.stand_ins import preloaded_stand_in, stand_ins
from mpiric.machine import read_machine
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, NotFoundError
from mpiric.model.job import Job, Meaning
from mpiric.model.json_text import json_lines
from mpiric.model.machine import Machine
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.quoting import sh_command
from mpiric.model.situation import Observation
from mpiric.model.translation import family_above, own_family
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.launch.loadable import located, two_families
from mpiric.workflows.launch.nodes import node_count, with_host_files

LOG = logging.getLogger(__package__)
_MOST_OTHERS = 2


def missing_launcher(job: Job, program: str, host: Host) -> NotFoundError:
    """Return the error for a job with a missing launcher; ``program`` is its path, "" if unknown."""
    family = mpis.abi_of_program(host, program) if program else None
    needed = mpis.mpi_needed_by(host, program) if program else ""
    linked = mpis.mpi_of_library(host, needed) if needed else None
    return NotFoundError(
        f"the launcher '{job.launcher_words[0]}' is not on PATH"
        if "/" not in job.launcher_words[0]
        else f"the launcher '{job.launcher_words[0]}' is not there",
        hint=_line_to_type(job, family, _fitting(mpis.find_mpis(host), family, linked)),
    )


def _fitting(
    libraries: Sequence[MpiLibrary], family: AbiFamily | None, linked: MpiLibrary | None
) -> list[MpiLibrary]:
    """Return the libraries whose launcher can start the program, first the library it is linked to."""
    linked_path = linked.library if linked else ""
    fitting = [
        library
        for library in libraries
        if library.launcher and (not family or family in library.abi_families)
    ]
    return sorted(fitting, key=lambda library: library.library != linked_path)


def _line_to_type(job: Job, family: AbiFamily | None, fitting: Sequence[MpiLibrary]) -> str:
    if not fitting:
        name = family.value if family and family.value in mpis.packages() else "mpich"
        belongs = f"no MPI of the {family.value} family" if family else "no MPI library"
        return f"{belongs} with a launcher was found here; `mpiric mpi install {name}` installs one"
    first, alternatives = fitting[0], fitting[1 : 1 + _MOST_OTHERS]
    at = len(job.prefix)
    line = sh_command((*job.argv[:at], first.launcher, *job.argv[at + 1 :]))
    more = ", ".join(f"{library.launcher} ({library.label})" for library in alternatives)
    return f"with {first.label}: -- {line}" + (f"; also here: {more}" if more else "")


_LIMIT_S = 60
_NAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}
_LET_IT_START = {"OMPI_MCA_rmaps_base_oversubscribe": "1"}


def start_alone(job: Job, library: MpiLibrary, host: Host) -> bool:
    """Return whether two ranks with this library and the job's launcher do not find each other.

    mpiric's own program is started like the user's, and each rank prints the number of ranks. False if
    unknown.
    """
    family = library.abi_families[0]
    try:
        program = native_part("probe-mpi", family)
    except NotFoundError:
        return False
    with ExitStack() as stack:
        path = [dirname(library.library)]
        if library.soname != _NAMES.get(family, library.soname):
            path.insert(0, stack.enter_context(library_under_name(library.library, _NAMES[family])))
        path += [job.environment["LD_LIBRARY_PATH"]] if job.environment.get("LD_LIBRARY_PATH") else []
        environment = {**_LET_IT_START, **job.environment, "LD_LIBRARY_PATH": ":".join(path)}
        argv = [job.launcher_words[0], "-n", "2", program, "identity"]
        answer = host.run(argv, environment=environment, timeout_s=_LIMIT_S, working_directory=HERE)
    sizes = [row.get("size") for row in json_lines(answer.stdout)]
    return bool(sizes) and all(size == 1 for size in sizes)


def singletons(
    job: Job, mpi: MpiLibrary, program_abi: AbiFamily, libraries: Sequence[MpiLibrary], brought: str = ""
) -> MismatchError:
    """Return the error for a launcher and a program with different MPI libraries."""
    fitting = [library for library in libraries if program_abi in library.abi_families and library.launcher]
    hints = [f"start it with {fitting[0].launcher} ({fitting[0].label})"] if fitting else []
    # `run --mpi` can only see before the run that a linked program needs a translation.
    if not brought and (program_abi, own_family(mpi)) in stand_ins():
        hints.append(f"have its calls translated for this one: mpiric run --mpi {mpi.label} -- CMD")
    nothing = f"no MPI of the {program_abi.value} family was found here; see `mpiric mpi list`"
    uses = f"loads {brought}" if brought else f"is linked to an MPI of the {program_abi.value} family"
    return MismatchError(
        f"{job.launcher_words[0]} belongs to {mpi.label}, but {job.program[0]} {uses}: "
        "each rank would run alone, as rank 0 of 1",
        hint=", or ".join(hints) or nothing,
    )


@dataclass(frozen=True)
class ParsedJob:
    """Facts that are known before the first run; ``mpi`` is None if only a run can show it.

    The library has no launcher if the launcher will be replaced, because its library does not serve the
    program: it has another ABI family, or the program does not find it.
    """

    job: Job
    machine: Machine
    mpi: MpiLibrary | None
    other_libraries: tuple[MpiLibrary, ...]
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
    """Parse the command line. Raises MpiricError if it cannot work.

    ``takes_another_mpi``: another library will be selected, so that any launcher is valid.
    """

    def is_program(word: str) -> bool:
        path = word if word.startswith("/") else f"{working_directory}/{word}"
        return host.is_executable(path) if "/" in word else host.which(word, by_shell=True) is not None

    def read_text(name: str) -> str:
        text = host.read_text(name if name.startswith("/") else f"{working_directory}/{name}")
        if text is None:
            raise NotFoundError(
                f"the file {name!r}, which lists the programs of the launch, cannot be read",
                hint="the launch line names it; a relative path starts in the working directory",
            )
        return text

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
        read_text=read_text,
    )
    job = with_host_files(job, host)
    if not (job.launcher_words or job.prefix or job.container or is_program(job.program[0])):
        raise NotFoundError(
            f"{job.program[0]!r} is not an executable program",
            hint="write your own launch line after '--', such as: -- mpirun -n 4 ./app",
        )
    libraries = mpis.find_mpis(host)
    mpi = mpis.mpi_of_launcher(host, job.launcher_words[0]) if job.launcher_words else None
    program_abi = _abi_of_program(job, host)
    mpi = _with_stand_in(mpi, job, host) if mpi is not None else None
    other_libraries = tuple(library for library in libraries if mpi is None or library.library != mpi.library)
    if mpi and program_abi:
        belongs = program_abi in (family_above(mpi), *mpi.abi_families)
        path = program_path(job, host)
        if not belongs:
            _refuse_two_families(mpis.mpi_names(host, (path, *mpis.libraries_needed_by(host, path))))
        if not belongs and not takes_another_mpi:
            raise singletons(job, mpi, program_abi, libraries)
        if takes_another_mpi and not (belongs and _is_found(mpi, path, host)):
            mpi, other_libraries = replace(mpi, launcher="", abi_families=(program_abi,)), tuple(libraries)
    machine = read_machine(host, working_directory)
    LOG.info("launcher: %s", sh_command(job.launcher_words[:1]) or "none: the command starts one process")
    LOG.info("MPI library: %s", f"{mpi.label} ({mpi.library})" if mpi else "to be seen in a run")
    LOG.debug("other MPI libraries: %s", ", ".join(library.label for library in other_libraries) or "none")
    return ParsedJob(job, machine, mpi, other_libraries, node_count(job, host))


def resolve_mpi(parsed: ParsedJob, observation: Observation, host: Host) -> MpiLibrary:
    """Return the library that the ranks have loaded. Raises MismatchError if it is not the launcher's."""
    # Mapped files have the full version in their name (libmpi.so.40.30.4); the file contains the soname.
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
    job, everyone = parsed.job, (loaded_mpi, *parsed.other_libraries)
    _refuse_two_families(observation.mpi_names)
    if not set(loaded_mpi.abi_families) & set(mpi.abi_families):
        raise singletons(
            job, mpi, loaded_mpi.abi_families[0], everyone, f"{loaded_mpi.label} ({loaded_mpi.library})"
        )
    # The program's RPATH or LD_LIBRARY_PATH selected another library of the family.
    if start_alone(job, loaded_mpi, host):
        raise singletons(
            job, mpi, loaded_mpi.abi_families[0], everyone, f"{loaded_mpi.label} ({loaded_mpi.library})"
        )
    return replace(loaded_mpi, launcher=mpi.launcher, dialect=mpi.dialect)


def serving(parsed: ParsedJob, mpi: MpiLibrary, observation: Observation, host: Host) -> ParsedJob:
    """Prepare all libraries for the program, including the launcher's."""
    everyone = (*((parsed.mpi,) if parsed.mpi else ()), *parsed.other_libraries)
    program = program_path(parsed.job, host)
    linked = (program, *mpis.libraries_needed_by(host, program)) if program else ()
    paths = (path for rank in observation.ranks for path in (rank.program, *rank.libraries))
    files = dict.fromkeys((*paths, *linked))
    names, calls = observation.mpi_names, observation.mpi_calls
    prepared = ready_to_serve(everyone, names, mpi, host, calls, tuple(files))
    return replace(parsed, other_libraries=prepared)


def mpi_of_program(parsed: ParsedJob, host: Host) -> MpiLibrary:
    """Return the library the executable is linked to, for launchers that serve every MPI library (srun)."""
    path = program_path(parsed.job, host)
    needed = mpis.mpi_needed_by(host, path) if path else ""
    mpi = mpis.mpi_of_library(host, needed) if needed else None
    if mpi is None:
        raise NotFoundError(
            f"which MPI library {parsed.job.program[0]} uses only shows when it runs",
            hint="run `mpiric tune -- CMD` once, or name the library with --mpi",
        )
    return mpi


def libraries_of_program(parsed: ParsedJob, host: Host) -> tuple[str, ...]:
    """Return the shared objects the executable is linked to, directly and indirectly."""
    path = program_path(parsed.job, host)
    return mpis.libraries_needed_by(host, path) if path else ()


def program_path(job: Job, host: Host) -> str:
    """Return the path of the program's file; "" inside a container or if it is not found."""
    if job.container is not None:
        return ""
    name = launchers.without_wrappers(job.program)[0]
    if any(option.meaning is Meaning.PROGRAM_FILE for option in job.segments[0].options):
        text = host.read_text(name if name.startswith("/") else f"{job.working_directory}/{name}")
        lines = (line.split() for line in (text or "").splitlines() if not line.lstrip().startswith("#"))
        name = next((fields[1] for fields in lines if len(fields) > 1), name)
    return located(name, job.working_directory, host)


def dialect_of(word: str, host: Host) -> str | None:
    """Return the dialect of a launcher whose name is ambiguous (``mpiexec``), None if unknown."""
    library = mpis.mpi_of_launcher(host, word)
    if library is not None:
        return library.dialect
    # A scheduler's launcher with the libraries' name: PALS's mpiexec.
    path = word if "/" in word else host.which(word, by_shell=True) or ""
    recognised = launchers.recognise_launcher(mpis.launcher_text(host, path)) if path else None
    return recognised[0] if recognised else None


def _with_stand_in(mpi: MpiLibrary, job: Job, host: Host) -> MpiLibrary:
    """Return the launcher's library, with the translation library that the command sets for its ranks."""
    stand_in, library = preloaded_stand_in(launchers.given_to_ranks(job, "LD_PRELOAD"))
    if stand_in and not host.is_file(library):
        where = (
            f"{library}, which does not exist"
            if library
            else "the file `library` in its directory, which does not exist"
        )
        raise NotFoundError(
            f"the stand-in {stand_in} needs {where}",
            hint="mpiric mpi stand-in writes one for a library of this machine",
        )
    is_its_own = library and host.real_path(library) == host.real_path(mpi.library)
    return replace(mpi, stand_in=stand_in) if is_its_own else mpi


def _is_found(mpi: MpiLibrary, path: str, host: Host) -> bool:
    """Return whether a program currently finds an MPI library."""
    return bool(mpi.stand_in) or "/" in mpis.mpi_needed_by(host, path)


def _refuse_two_families(names: Iterable[str]) -> None:
    if both := two_families(names):
        raise MismatchError(f"the program {both}", hint="link it and all its libraries to one of them")


def _abi_of_program(job: Job, host: Host) -> AbiFamily | None:
    path = program_path(job, host)
    return mpis.abi_of_program(host, path) if path else None

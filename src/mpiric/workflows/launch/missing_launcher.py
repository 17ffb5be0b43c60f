"""A launcher that is not there: the error that names the one that fits the program, with the line to type."""

from collections.abc import Sequence

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.model.errors import NotFoundError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.quoting import sh_command

_MOST_OTHERS = 2


def missing_launcher(job: Job, program: str, host: Host) -> NotFoundError:
    """The error for a job whose launcher is not there; ``program`` is its program's path, "" if unknown."""
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
    """The libraries whose launcher can start the program, the one that it is linked to first."""
    own = linked.library if linked else ""
    fitting = [
        library
        for library in libraries
        if library.launcher and (not family or family in library.abi_families)
    ]
    return sorted(fitting, key=lambda library: library.library != own)


def _line_to_type(job: Job, family: AbiFamily | None, fitting: Sequence[MpiLibrary]) -> str:
    if not fitting:
        name = family.value if family and family.value in mpis.packages() else "mpich"
        belongs = f"no MPI of the {family.value} family" if family else "no MPI library"
        return f"{belongs} with a launcher was found here; `mpiric mpi install {name}` brings one"
    first, others = fitting[0], fitting[1 : 1 + _MOST_OTHERS]
    at = len(job.prefix)
    line = sh_command((*job.argv[:at], first.launcher, *job.argv[at + 1 :]))
    more = ", ".join(f"{library.launcher} ({library.label})" for library in others)
    return f"with {first.label}: -- {line}" + (f"; also here: {more}" if more else "")

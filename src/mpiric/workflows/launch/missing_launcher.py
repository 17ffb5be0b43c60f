"""Error for a missing launcher, with the suitable launcher and a command line."""

from collections.abc import Sequence

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.model.errors import NotFoundError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.quoting import sh_command

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
        return f"{belongs} with a launcher was found here; `mpiric mpi install {name}` brings one"
    first, alternatives = fitting[0], fitting[1 : 1 + _MOST_OTHERS]
    at = len(job.prefix)
    line = sh_command((*job.argv[:at], first.launcher, *job.argv[at + 1 :]))
    more = ", ".join(f"{library.launcher} ({library.label})" for library in alternatives)
    return f"with {first.label}: -- {line}" + (f"; also here: {more}" if more else "")

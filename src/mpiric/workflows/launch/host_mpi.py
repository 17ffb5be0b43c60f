"""Whether the launcher's MPI library can be bound over that of an image, and why not."""

from posixpath import dirname

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.model.job import Job
from mpiric.model.mpi_library import MpiLibrary
from mpiric.workflows.launch.inside import look_inside
from mpiric.workflows.launch.loadable import why_not_loadable

_OF_SYSTEM = ("/", "/usr", "/usr/local")


def why_not_host_mpi(job: Job, mpi: MpiLibrary, host: Host) -> str:
    """Why a job's image cannot use the library of its launcher, "" where it can or there is no container.

    The C library is checked first: what the host's library and those beside it need, against the image's.
    """
    if job.container is None or not mpi.library:
        return ""
    if mpi.prefix in _OF_SYSTEM:
        return f"{mpi.label} lies among the libraries of the system, and would bring its C library along"
    for library in (mpi.library, *_beside(mpi, host)):
        if reason := why_not_loadable(job, library, host, whose=f"{library} of {mpi.label}"):
            return reason
    names = look_inside(job, job.container, host).mpi_names
    families = {family for name in names if (family := mpis.family_of_soname(name))}
    if families and not families & set(mpi.abi_families):
        return f"the program inside loads {', '.join(names)}, and {mpi.label} is of another ABI family"
    return ""


def _beside(mpi: MpiLibrary, host: Host) -> tuple[str, ...]:
    """The library of the prefix that needs the newest glibc: one question to the image is enough."""
    place = dirname(mpi.library)
    paths = [path for path in mpis.libraries_needed_by(host, mpi.library) if path.startswith(f"{place}/")]
    newest = sorted(paths, key=lambda path: elf.glibc_needed if (elf := host.elf(path)) else ())
    return tuple(newest[-1:])

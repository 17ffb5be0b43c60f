"""Use of the launcher's MPI library instead of an image's: directly, translated, or refused."""

from collections.abc import Collection
from dataclasses import replace
from posixpath import dirname

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.model.job import Job
from mpiric.model.mpi_library import MpiLibrary
from mpiric.workflows.launch.container_findings import look_inside
from mpiric.workflows.launch.interchange import translated
from mpiric.workflows.launch.loadable import why_not_loadable

_OF_SYSTEM = ("/", "/usr", "/usr/local")


def host_mpi(job: Job, mpi: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for the program in a job's image; ``refused`` says why it does not fit.

    The C library is checked first: the requirements of the host's library and of its neighbours against the
    image's.
    """
    if job.container is None or not mpi.library:
        return mpi
    if mpi.prefix in _OF_SYSTEM:
        why = f"{mpi.label} is in a system directory, whose C library would be mounted too"
        return replace(mpi, refused=why)
    for library in (mpi.library, *_beside(mpi, host)):
        if reason := why_not_loadable(job, library, host, whose=f"{library} of {mpi.label}"):
            return replace(mpi, refused=reason)
    ready = _serving(look_inside(job, job.container, host).mpi_names, mpi, host)
    for library in ready.preloaded:
        if reason := why_not_loadable(job, library, host, whose=f"the stand-in {library}"):
            return replace(mpi, refused=reason)
    return ready


def _serving(names: Collection[str], mpi: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for a program with these libraries in the image, whose Fortran modules stay."""
    families = {family for name in names if (family := mpis.family_of_soname(name))}
    if not families or families & set(mpi.abi_families):
        return mpi
    files = tuple(f"/{name}" for name in names)
    ready = translated(mpi, next(iter(families)), frozenset(names), frozenset(), files, host)
    if ready.stand_in or ready.refused:
        return ready
    why = f"the program inside loads {', '.join(names)}, and {mpi.label} is of another ABI family"
    return replace(mpi, refused=why)


def _beside(mpi: MpiLibrary, host: Host) -> tuple[str, ...]:
    """Return the library of the prefix that needs the newest glibc; only it is checked in the image."""
    place = dirname(mpi.library)
    paths = [path for path in mpis.libraries_needed_by(host, mpi.library) if path.startswith(f"{place}/")]
    newest = sorted(paths, key=lambda path: elf.glibc_needed if (elf := host.elf(path)) else ())
    return tuple(newest[-1:])

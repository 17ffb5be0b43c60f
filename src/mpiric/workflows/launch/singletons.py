"""Detection of launchers and libraries that do not cooperate: every rank believes it is rank 0 of 1."""

from collections.abc import Sequence
from contextlib import ExitStack
from posixpath import dirname

from mpiric.host.host import HERE, Host
from mpiric.host.installation.native import library_under_name, native_part
from mpiric.host.installation.stand_ins import stand_ins
from mpiric.model.errors import MismatchError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.json_text import json_lines
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import own_family

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
    if (program_abi, own_family(mpi)) in stand_ins():
        hints.append(f"have its calls translated for this one: mpiric run --mpi {mpi.label} -- CMD")
    nothing = f"no MPI of the {program_abi.value} family was found here; see `mpiric mpi list`"
    uses = f"loads {brought}" if brought else f"is linked to an MPI of the {program_abi.value} family"
    return MismatchError(
        f"{job.launcher_words[0]} belongs to {mpi.label}, but {job.program[0]} {uses}: "
        "each rank would run alone, as rank 0 of 1",
        hint=", or ".join(hints) or nothing,
    )

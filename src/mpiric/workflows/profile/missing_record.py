"""Why a program left no record, and which family of MPI libraries it needs to leave one."""

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import family_above
from mpiric.workflows.launch.parse_job import ParsedJob, program_path


def explain_missing_record(error: MpiricError, parsed: ParsedJob, host: Host) -> MpiricError:
    """Return an error that explains why nothing was recorded, if the executable shows the reason."""
    path = program_path(parsed.job, host)
    elf = host.elf(path) if path else None
    if elf is None or elf.interpreter:
        return error
    return NotFoundError(
        f"{error.message}: {path} is linked statically, so that the runtime cannot be loaded into its ranks",
        hint="link it to shared libraries, at least to a shared MPI library",
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

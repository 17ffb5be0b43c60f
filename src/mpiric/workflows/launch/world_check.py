"""Check that the ranks of a launch found each other: its number of ranks against the recorded world."""

import re

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.lab.endings import command_line
from mpiric.model.errors import Finding, MismatchError
from mpiric.model.job import Job, Launch, Spelling
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.profile import Advice, Remedy
from mpiric.model.record import Record

_SOURCE = "MPI standard, MPI_Init without a process manager; SchedMD, MPI Users Guide"
_PLUGIN = re.compile(r"^\s*(?:srun: )?(none|pmi2|pmix(?:_v\d+)?|cray_shasta|openmpi)\s*$", re.MULTILINE)


def ranks_alone(job: Job, record: Record, host: Host) -> Advice | None:
    """Return the finding that each process of a launch is rank 0 of 1; None if the ranks found each other."""
    if not job.launcher_words or not job.ranks or job.ranks < 2 or record.world_size != 1:
        return None
    version = record.ranks[0].facts.get("mpi.version", "") if record.ranks else ""
    library = _library(version, host)
    launcher = job.launcher_words[0]
    name = library.label if library else version.partition("\n")[0] or "their MPI library"
    if job.launcher.serves_every_library:
        cause = f"srun gave the ranks no process manager that {name} understands"
        fix = "add the plug-in to srun, or start the program with mpirun inside the allocation"
    elif library is not None and _belongs(launcher, library, host):
        cause = "the variables of the launcher do not reach the ranks, or the program removes them"
        fix = "check what stands between the launcher and the program: env -i, sudo, a container"
    else:
        cause = f"{launcher} belongs to another MPI library than {name}, which the program loads"
        fix = "start the program with the launcher of its own MPI library"
    finding = Finding(
        "ranks-alone",
        f"Each of the {job.ranks} ranks runs alone, as rank 0 of 1: {cause}",
        f"the launch line asks for {job.ranks} ranks, and MPI_COMM_WORLD has 1",
        fix,
    )
    remedy = _remedy(job, library, host)
    commands = (command_line(remedy),) if remedy else ()
    return Advice(finding, 0.0, None, "", (), commands, _SOURCE, explains_run=True, remedy=remedy)


def refuse_ranks_alone(job: Job, record: Record, host: Host) -> None:
    """Raise MismatchError if each process of a launch is rank 0 of 1."""
    if alone := ranks_alone(job, record, host):
        raise MismatchError(alone.finding.says, hint=": ".join((alone.finding.fix, *alone.commands)))


def _library(version: str, host: Host) -> MpiLibrary | None:
    """Return an installed library with a launcher, of the family that a version text names."""
    family = AbiFamily.OPENMPI if "Open MPI" in version else AbiFamily.MPICH if version else None
    fitting = [one for one in mpis.find_mpis(host) if one.launcher and family in one.abi_families]
    number = re.search(r"(\d+(?:\.\d+)+)", version)
    return next((one for one in fitting if number and number[1] in one.label), next(iter(fitting), None))


def _belongs(launcher: str, library: MpiLibrary, host: Host) -> bool:
    shipped_with = mpis.mpi_of_launcher(host, launcher)
    if shipped_with is None:
        return False
    return bool(set(shipped_with.abi_families) & set(library.abi_families))


def _remedy(job: Job, library: MpiLibrary | None, host: Host) -> Remedy | None:
    """Return the launch line with the missing plug-in of Slurm, or with the library's own launcher."""
    if library is None:
        return None
    if job.launcher.serves_every_library:
        listed = host.run([job.launcher_words[0], "--mpi=list"], timeout_s=10)
        manager = launchers.dialects()[library.dialect].process_manager
        present = _PLUGIN.findall(listed.stdout + listed.stderr)
        if manager in present:
            at = len(job.prefix) + 1
            argv = (*job.argv[:at], f"--mpi={manager}", *job.argv[at:])
            return Remedy(Launch(argv, job.working_directory))
        return None
    if _belongs(job.launcher_words[0], library, host):
        return None
    spelling = Spelling(dialect=library.dialect, launcher_words=(library.launcher,))
    try:
        return Remedy(launchers.render(job, [("launcher", library.label, spelling)]))
    except MismatchError:
        return None

"""The situation of a job before its first run, from its command, its files and the machine."""

from dataclasses import replace
from functools import cache

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.machine.running_ranks import see_jobs
from mpiric.machine.topology import topology_s
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Allowed, Observation, RankSeen, Situation
from mpiric.tuning.store import default_store
from mpiric.workflows.launch.findings import host_mpi
from mpiric.workflows.launch.loadable import why_not_switchable
from mpiric.workflows.launch.nodes import host_names
from mpiric.workflows.launch.parameter_files import settings_in_files
from mpiric.workflows.launch.parse_job import (
    ParsedJob,
    libraries_of_program,
    mpi_of_program,
    program_path,
    resolve_mpi,
    serving,
)
from mpiric.workflows.policies import loadable, tuner_for

_BELOW_MPI = (  # prefixes of variables that tune layers below MPI, memory or threads
    *("ROMIO_", "UCX_", "FI_", "PSM_", "PSM2_", "HDF5_USE_FILE_LOCKING"),
    *("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NCPUS"),
)

_UNKNOWN = MpiLibrary("unknown", "", (), "", "", "", "", "", "")


def expected_situation(parsed: ParsedJob, host: Host, allowed: Allowed) -> Situation:
    """Return the situation without running anything, with the MPI library that the executable is linked to.

    Raises NotFoundError if only a run can show the MPI library (srun, scripts).
    """
    observation = observation_of(expected_ranks(parsed, host), parsed, host)
    mpi = resolve_mpi(parsed, observation, host) if parsed.mpi else mpi_of_program(parsed, host)
    return situation_of(serving(parsed, mpi, observation, host), mpi, observation, allowed, host)


def known_situation(parsed: ParsedJob, host: Host, allowed: Allowed) -> Situation:
    """Return the situation of a command whose MPI library may be unknown before a run."""
    return situation_of(parsed, parsed.mpi or _UNKNOWN, Observation(0.0), allowed, host)


def expected_ranks(parsed: ParsedJob, host: Host) -> tuple[RankSeen, ...]:
    """Return the ranks of a job as known without a run."""
    rank = RankSeen(
        rank=None,
        program=program_path(parsed.job, host),
        cpus_allowed=parsed.machine.usable_pus,
        libraries=libraries_of_program(parsed, host),
    )
    return (rank,) * (parsed.job.ranks or 1)


def observation_of(
    ranks: tuple[RankSeen, ...], parsed: ParsedJob, host: Host, wall_s: float = 0.0, ranks_s: float = 0.0
) -> Observation:
    """Return the observation of ranks; outside of containers with the program's use of MPI, from its files.

    The files are the mapped files of the ranks and the executable's libraries, as ranks may be seen late or
    not at all.
    """
    observation = Observation(wall_s, ranks, parsed.machine.usable_cpu_count, ranks_s=ranks_s)
    if parsed.job.container is not None:
        return observation
    program = program_path(parsed.job, host)
    linked = (program, *mpis.libraries_needed_by(host, program)) if program else ()
    paths = (path for rank in ranks for path in (rank.program, *rank.libraries))
    files = dict.fromkeys(path for path in (*paths, *linked) if path.startswith("/"))
    names = mpis.mpi_names(host, files)
    return replace(
        observation,
        mpi_calls=mpis.mpi_calls(host, files),
        mpi_names=names,
        mpi_fixed=why_not_switchable(next(iter(files), ""), names, host),
        mpi_nailed=mpis.nailed_to(host, files),
    )


def situation_of(
    parsed: ParsedJob, mpi: MpiLibrary, observation: Observation, allowed: Allowed, host: Host
) -> Situation:
    """Return the situation for knobs: the job, and its observation."""
    job, nics = parsed.job, parsed.machine.nics
    tuning = (*mpis.variable_beginnings(), *_BELOW_MPI)
    return Situation(
        machine=parsed.machine,
        job=job,
        mpi=mpi,
        observation=observation,
        other_libraries=tuple(
            other
            for other in parsed.other_libraries
            if (other.library, other.launcher) != (mpi.library, mpi.launcher)
        ),
        allowed=allowed,
        nodes=parsed.nodes,
        inherited={name: value for name, value in job.environment.items() if name.startswith(tuning)},
        in_files=settings_in_files(mpi, job, host),
        tuner=loadable(tuner_for(mpi), job, host),
        hint_directory=str(default_store().parent / "hints"),
        read_host_names=cache(lambda: host_names(job, nics, host)),
        read_neighbours=cache(lambda: see_jobs(host)),
        time_topology=cache(lambda: topology_s(host)),
        read_host_mpi=cache(lambda: host_mpi(job, mpi, host) if job.container else None),
    )

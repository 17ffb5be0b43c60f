"""The request of a job script, completed by the launch line, the site's defaults and the node's shape."""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from posixpath import basename

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.model.batch import NodeShape
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.job import Job, Meaning
from mpiric.model.mpi_library import AbiFamily
from mpiric.schedulers import (
    BatchScheduler,
    LayoutRequest,
    ScriptOptions,
    SiteDefaults,
)
from mpiric.workflows.launch.nodes import stated
from mpiric.workflows.launch.parse_job import program_path

_PMI_LIBRARIES = (  # libraries of Slurm, under the names that distributions install
    "/usr/lib64/libpmi2.so.0",
    "/usr/lib/x86_64-linux-gnu/libpmi2.so.0",
    "/usr/lib/aarch64-linux-gnu/libpmi2.so.0",
    "/usr/lib64/libpmi2.so",
)


@dataclass(frozen=True)
class ScriptRequest:
    """Options of `mpiric script`; "" and 0 are replaced by the site's defaults or the node's shape."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    layout: LayoutRequest = field(default_factory=LayoutRequest)
    shape: NodeShape | None = None
    options: ScriptOptions = field(default_factory=lambda: ScriptOptions(shebang=""))
    scheduler: str = ""  # "" for the installed one, else Slurm
    mpi: str = ""  # process manager of the scheduler's launcher
    defaults: Path | None = None
    recipe: Path | None = None
    allow_rounding: bool = False
    check: bool = True


def with_sizes_of_line(request: LayoutRequest, job: Job) -> LayoutRequest:
    """Take numbers of nodes, ranks and threads from the user's launch line.

    Raises MpiricError for an option of the script that contradicts it.
    """
    sizes = (
        ("nodes", request.nodes, stated(job, Meaning.NODES) or len(launchers.named_hosts(job)), 0),
        ("ranks", request.ranks, job.ranks or 0, 0),
        ("ranks_per_node", request.ranks_per_node, stated(job, Meaning.RANKS_PER_NODE), 0),
        ("threads", request.threads, stated(job, Meaning.THREADS_PER_RANK), 1),
    )
    chosen: dict[str, int] = {}
    for name, requested, of_line, unset in sizes:
        chosen[name] = of_line or requested
        if of_line and requested not in (unset, of_line):
            option, noun = f"--{name.replace('_', '-')}", name.replace("_", " ")
            raise MpiricError(
                f"{option} {requested} contradicts the launch line, which sets {of_line} {noun}",
                hint=f"remove {option}, or change the launch line",
            )
    if job.dialect == "srun" and sizes[0][2] and not (chosen["ranks"] or chosen["ranks_per_node"]):
        chosen["ranks_per_node"] = 1  # default of srun
    return LayoutRequest(
        **chosen, bandwidth_bound=request.bandwidth_bound, gpus_per_node=request.gpus_per_node
    )


@dataclass(frozen=True)
class RankService:
    """Service with which ranks find each other under the scheduler's launcher."""

    manager: str = ""  # value of --mpi
    dialect: str = ""  # launcher of the MPI library; "" for an unknown library
    environment: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""  # advice for the user


def rank_service(job: Job, scheduler: BatchScheduler, requested: str, host: Host) -> RankService:
    """Choose ``--mpi`` by the MPI library that the program is linked to.

    Raises MismatchError where Slurm has no plug-in for it: srun would start jobs of one rank each.
    """
    path = program_path(job, host)
    needed = mpis.mpi_needed_by(host, path) if path else ""
    library = mpis.mpi_of_library(host, needed) if needed else None
    family = mpis.abi_of_program(host, path) if path else None
    by_family = "openmpi5" if family is AbiFamily.OPENMPI else "hydra" if family else ""
    dialect = library.dialect if library else by_family
    launcher = launchers.dialects().get(dialect)
    manager = requested or (launcher.process_manager if launcher else "")
    available = scheduler.process_managers(host)
    if manager and available and manager not in available:
        raise MismatchError(
            f"{scheduler.title} has no plug-in {manager} (it has {', '.join(available)}); without it, "
            f"{scheduler.launcher} starts {basename(job.program[0])} as jobs of one rank each",
            hint=f"use the launcher of the MPI library: mpiric script … -- mpirun -n N {job.program[0]}",
        )
    if not manager and scheduler.default_process_manager(host) == "none":
        return RankService(
            sentence=f"the MPI library of {job.program[0]} is unknown, and {scheduler.title} uses no process "
            "manager by default (MpiDefault=none): add --mpi pmi2 (MPICH, Intel MPI) or "
            "--mpi pmix (Open MPI)",
        )
    variable = launcher.process_manager_needs if launcher else ""
    if not variable or variable in job.environment or scheduler.launcher != "srun":
        return RankService(manager, dialect)
    file = next((path for path in _PMI_LIBRARIES if host.is_file(path)), "")
    missing = f"set {variable} to Slurm's libpmi2.so in the script, so that the ranks find each other"
    return RankService(manager, dialect, {variable: file} if file else {}, "" if file else missing)


def without_service(job: Job, scheduler: BatchScheduler, host: Host) -> str:
    """Return a warning if the user's ``srun`` has no ``--mpi`` and Slurm has no default process manager."""
    named = any(segment.first(Meaning.PROCESS_MANAGER) for segment in job.segments)
    if job.dialect != "srun" or named or scheduler.default_process_manager(host) != "none":
        return ""
    manager = (
        rank_service(job, scheduler, "", host).manager or "pmi2 (MPICH, Intel MPI) or --mpi=pmix (Open MPI)"
    )
    return f"srun starts jobs of one rank each (MpiDefault=none): use srun --mpi={manager}"


def with_site_defaults(options: ScriptOptions, site: SiteDefaults, program: str) -> ScriptOptions:
    """Complete the user's options by the site's defaults."""
    defaults = site.options
    return replace(
        options,
        shebang=options.shebang or defaults.shebang,
        job_name=options.job_name or program,
        time=options.time or defaults.time,
        account=options.account or defaults.account,
        partition=options.partition or defaults.partition,
        directives=(*defaults.directives, *options.directives),
        setup=(*defaults.setup, *options.setup),
        environment={**defaults.environment, **options.environment},
    )


def node_shape(scheduler: BatchScheduler, host: Host, partition: str) -> NodeShape:
    """Return the shape of a node of the partition. Raises MpiricError if the scheduler does not know it."""
    shapes = scheduler.node_shapes(host, partition)
    if not shapes:
        raise MpiricError(
            f"the number of cores of a node{f' of {partition}' if partition else ''} is unknown",
            hint="add --node 2x64x2 (sockets, cores of each, hardware threads of each core), "
            "or run this on a login node of the cluster",
        )
    return shapes[0]

"""Write a job script from layout, site defaults and a recipe, and let the scheduler check it."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from posixpath import basename

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.host.processes.captured import make_ready
from mpiric.model.batch import BatchLayout, NodeShape, ScriptCheck, ScriptLine
from mpiric.model.configuration import PARAMETER, substitute
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.job import Job, Launch, Meaning
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.quoting import one_line, sh_command
from mpiric.schedulers import (
    BatchScheduler,
    LayoutRequest,
    ScriptOptions,
    SiteDefaults,
    batch_scheduler,
    batch_scheduler_here,
    plan_layout,
    read_site_defaults,
    script_lines,
    text_of,
)
from mpiric.workflows.launch.nodes import stated
from mpiric.workflows.launch.parse_job import dialect_of, program_path
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare

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


def rank_service(
    job: Job, scheduler: BatchScheduler, requested: str, host: Host
) -> tuple[str, str, dict[str, str], str]:
    """Choose ``--mpi``, by which ranks find each other, by the MPI library that the program is linked to.

    Return the value of ``--mpi``, the launcher of the MPI library ("" if it is unknown), variables, and
    advice for the user. Raises MismatchError where Slurm has no plug-in for it: srun would start jobs of one
    rank each.
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
        return (
            "",
            "",
            {},
            (
                f"the MPI library of {job.program[0]} is unknown, and {scheduler.title} uses no process "
                "manager by default (MpiDefault=none): add --mpi pmi2 (MPICH, Intel MPI) or "
                "--mpi pmix (Open MPI)"
            ),
        )
    variable = launcher.process_manager_needs if launcher else ""
    if not variable or variable in job.environment or scheduler.launcher != "srun":
        return manager, dialect, {}, ""
    file = next((path for path in _PMI_LIBRARIES if host.is_file(path)), "")
    missing = f"set {variable} to Slurm's libpmi2.so in the script, so that the ranks find each other"
    return manager, dialect, {variable: file} if file else {}, "" if file else missing


def without_service(job: Job, scheduler: BatchScheduler, host: Host) -> str:
    """Return a warning if the user's ``srun`` has no ``--mpi`` and Slurm has no default process manager."""
    named = any(segment.first(Meaning.PROCESS_MANAGER) for segment in job.segments)
    if job.dialect != "srun" or named or scheduler.default_process_manager(host) != "none":
        return ""
    manager, *_ = rank_service(job, scheduler, "", host)
    named_manager = manager or "pmi2 (MPICH, Intel MPI) or --mpi=pmix (Open MPI)"
    return f"srun starts jobs of one rank each (MpiDefault=none): use srun --mpi={named_manager}"


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


@dataclass(frozen=True)
class Script:
    """A job script, and the check by the scheduler, None if it was not or cannot be checked."""

    text: str
    lines: tuple[ScriptLine, ...]
    layout: BatchLayout
    shape: NodeShape
    launch: tuple[str, ...]
    environment: Mapping[str, str]
    sentences: tuple[str, ...]
    checked: ScriptCheck | None
    scheduler: str  # title of the scheduler


def script(request: ScriptRequest, host: Host) -> Script:
    """Write the text of a script. Raises MpiricError for a job that does not fit the nodes."""
    name = request.scheduler
    scheduler = batch_scheduler(name) if name else batch_scheduler_here(host) or batch_scheduler("slurm")
    site = read_site_defaults(request.environment, request.defaults, host.read_text)
    word = launchers.ambiguous_launcher_word(request.argv)
    dialect = dialect_of(word, host) if word else None
    job = launchers.parse_command(request.argv, request.working_directory, {}, dialect=dialect)
    job = replace(job, environment=request.environment)  # parsed without variables of an enclosing job
    if job.program[0].startswith("-"):
        raise MpiricError(
            f"{job.program[0]!r} is an option, not a program", hint="write options of the script before '--'"
        )
    options = with_site_defaults(request.options, site, one_line(Path(job.program[0]).name))
    shape = request.shape or site.shape or node_shape(scheduler, host, options.partition)
    named = bool(job.launcher_words)
    layout = plan_layout(with_sizes_of_line(request.layout, job), shape)
    argv, sentence, unbound = request.argv, without_service(job, scheduler, host), ""
    if not named:
        manager, library, variables, sentence = rank_service(job, scheduler, request.mpi or site.mpi, host)
        argv = (*scheduler.launch(layout, shape, manager, library), *request.argv)
        unbound = scheduler.unbound(layout, library)
        options = replace(options, environment={**variables, **options.environment})
    launch, sentences = _with_recipe(request, argv, host) if request.recipe else (Launch(argv, ""), ())
    around = () if named else scheduler.around_program(layout)
    settings = ((setting.knob, setting.value) for setting in launch.settings)
    program = substitute(request.argv, {knob: value for knob, value in settings if PARAMETER.fullmatch(knob)})
    if around and launch.argv[-len(program) :] == program:
        launch = replace(launch, argv=(*launch.argv[: -len(program)], *around, *program))
    elif around:
        unbound = f"ranks are not bound to GPUs, since the recipe starts another program: {launch.argv[-1]}"
    reasons = {setting.name: f"{setting.knob}, from the recipe" for setting in launch.settings}
    by_option = [f"{s.name} ({reasons[s.name]})" for s in launch.settings if s.where == "command line"]
    placement = "" if named else "each rank on separate cores, consecutive ranks on neighbouring cores"
    options = replace(
        options,
        environment={**options.environment, **launch.environment},
        setup=(*options.setup, *map(sh_command, launch.prepare)),
        unset=launch.unset,
        reasons=reasons,
        launch_reason="; ".join(filter(None, [placement, *by_option])),
    )
    lines = script_lines(scheduler, layout, shape, options, launch.argv)
    text = text_of(lines, scheduler.directive if scheduler.comments_beside else "")
    checked = _checked(scheduler, text, host) if request.check else None
    return Script(
        text,
        lines,
        layout,
        shape,
        launch.argv,
        options.environment,
        (*filter(None, [sentence, unbound]), *sentences),
        checked,
        scheduler.title,
    )


def _with_recipe(request: ScriptRequest, argv: tuple[str, ...], host: Host) -> tuple[Launch, tuple[str, ...]]:
    run = RunRequest(
        argv,
        request.working_directory,
        request.environment,
        recipe=request.recipe,
        allow_rounding=request.allow_rounding,
    )
    prepared = prepare(run, host)
    files = replace(prepared.launch, prepare=())  # the commands are lines of the script
    complaint = make_ready(files, request.environment, request.working_directory)
    return prepared.launch, (*prepared.sentences, *filter(None, [complaint]))


def _checked(scheduler: BatchScheduler, text: str, host: Host) -> ScriptCheck | None:
    file, path = tempfile.mkstemp(prefix="mpiric-", suffix=".sh")
    try:
        with os.fdopen(file, "w") as stream:
            stream.write(text)
        return scheduler.check(host, path)
    finally:
        Path(path).unlink()

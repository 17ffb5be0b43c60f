"""Write a job script from layout, site defaults and a recipe, and let the scheduler check it."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.host.processes.captured import make_ready
from mpiric.model.batch import BatchLayout, NodeShape, ScriptCheck, ScriptLine
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.launch import Launch
from mpiric.model.quoting import one_line, sh_command
from mpiric.schedulers import (
    BatchScheduler,
    batch_scheduler,
    batch_scheduler_here,
    plan_layout,
    read_site_defaults,
    script_lines,
    text_of,
)
from mpiric.workflows.launch.parse_job import dialect_of
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare
from mpiric.workflows.run.script_options import (
    ScriptRequest,
    node_shape,
    rank_service,
    with_site_defaults,
    with_sizes_of_line,
    without_service,
)


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
    scheduler = _scheduler(request.scheduler, host)
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
        service = rank_service(job, scheduler, request.mpi or site.mpi, host)
        argv = (*scheduler.launch(layout, shape, service.manager, service.dialect), *request.argv)
        sentence, unbound = service.sentence, scheduler.unbound(layout, service.dialect)
        options = replace(options, environment={**service.environment, **options.environment})
    launch, sentences = _with_recipe(request, argv, host) if request.recipe else (Launch(argv, ""), ())
    around = () if named else scheduler.around_program(layout)
    if around and launch.argv[-len(request.argv) :] == request.argv:
        before = launch.argv[: -len(request.argv)]
        launch = replace(launch, argv=(*before, *around, *request.argv))
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


def _scheduler(name: str, host: Host) -> BatchScheduler:
    return batch_scheduler(name) if name else batch_scheduler_here(host) or batch_scheduler("slurm")


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

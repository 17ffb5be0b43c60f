"""A job script: layout, site defaults, a recipe's settings, the scheduler's own opinion."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.model.batch import BatchLayout, NodeShape, ScriptCheck, ScriptLine
from mpiric.model.errors import MpiricError
from mpiric.model.launch import Launch
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
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare


@dataclass(frozen=True)
class ScriptRequest:
    """What the user requests; "" and 0 where the site's defaults or the node's shape decide."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    layout: LayoutRequest = field(default_factory=LayoutRequest)
    shape: NodeShape | None = None
    options: ScriptOptions = field(default_factory=lambda: ScriptOptions(shebang=""))
    scheduler: str = ""  # the one that is here, else Slurm
    mpi: str = ""  # for the scheduler's own launcher
    defaults: Path | None = None
    recipe: Path | None = None
    check: bool = True


@dataclass(frozen=True)
class Script:
    """The script, and what the scheduler says to it: None when it was not queried or cannot be."""

    text: str
    lines: tuple[ScriptLine, ...]
    layout: BatchLayout
    shape: NodeShape
    launch: tuple[str, ...]
    environment: Mapping[str, str]
    words: tuple[str, ...]
    checked: ScriptCheck | None
    scheduler: str  # its title


def script(request: ScriptRequest, host: Host) -> Script:
    """Write it as text. Raises MpiricError for a job that does not fit the nodes."""
    scheduler = _scheduler(request.scheduler, host)
    site = read_site_defaults(request.environment, request.defaults, host.read_text)
    job = launchers.parse_command(request.argv, "", {})
    if job.program[0].startswith("-"):
        raise MpiricError(
            f"{job.program[0]!r} is an option, not a program", hint="options of the script go before '--'"
        )
    options = _merged(request.options, site, Path(job.program[0]).name)
    shape = request.shape or site.shape or _shape_of(scheduler, host, options.partition)
    named = bool(job.launcher_words)
    layout = plan_layout(_with_ranks(request.layout, job.ranks), shape)
    argv = (
        request.argv if named else (*scheduler.launch(layout, shape, request.mpi or site.mpi), *request.argv)
    )
    launch, words = _with_recipe(request, argv, host) if request.recipe else (Launch(argv, ""), ())
    reasons = {setting.name: f"{setting.knob}, from the recipe" for setting in launch.settings}
    by_option = [f"{s.name} ({reasons[s.name]})" for s in launch.settings if s.where == "command line"]
    own = "" if named else "each rank on cores of its own, neighbours in rank beside each other"
    options = replace(
        options,
        environment={**options.environment, **launch.environment},
        unset=launch.unset,
        reasons=reasons,
        launch_reason="; ".join(filter(None, [own, *by_option])),
    )
    lines = script_lines(scheduler, layout, shape, options, launch.argv)
    text = text_of(lines, scheduler.directive if scheduler.comments_beside else "")
    checked = _checked(scheduler, text, host) if request.check else None
    return Script(
        text, lines, layout, shape, launch.argv, options.environment, words, checked, scheduler.title
    )


def _scheduler(name: str, host: Host) -> BatchScheduler:
    return batch_scheduler(name) if name else batch_scheduler_here(host) or batch_scheduler("slurm")


def _with_recipe(request: ScriptRequest, argv: tuple[str, ...], host: Host) -> tuple[Launch, tuple[str, ...]]:
    run = RunRequest(argv, request.working_directory, request.environment, recipe=request.recipe)
    prepared = prepare(run, host)
    return prepared.launch, prepared.words


def _with_ranks(request: LayoutRequest, of_command: int | None) -> LayoutRequest:
    """Ranks as the user's own launch line says; a contradiction to --ranks is an error."""
    if of_command is None:
        return request
    if request.ranks and request.ranks != of_command:
        raise MpiricError(
            f"--ranks {request.ranks} and the command's own {of_command} ranks contradict each other",
            hint="leave one of them away",
        )
    return replace(request, ranks=of_command)


def _merged(given: ScriptOptions, site: SiteDefaults, program: str) -> ScriptOptions:
    """The user's options over the site's."""
    own = site.options
    return replace(
        given,
        shebang=given.shebang or own.shebang,
        job_name=given.job_name or program,
        time=given.time or own.time,
        account=given.account or own.account,
        partition=given.partition or own.partition,
        directives=(*own.directives, *given.directives),
        setup=(*own.setup, *given.setup),
        environment={**own.environment, **given.environment},
    )


def _shape_of(scheduler: BatchScheduler, host: Host, partition: str) -> NodeShape:
    shapes = scheduler.node_shapes(host, partition)
    if not shapes:
        raise MpiricError(
            f"how many cores a node{f' of {partition}' if partition else ''} has is not known here",
            hint="give --node 2x64x2 (sockets, cores of each, hardware threads of each core), "
            "or run this on a login node of the cluster",
        )
    return shapes[0]


def _checked(scheduler: BatchScheduler, text: str, host: Host) -> ScriptCheck | None:
    file, path = tempfile.mkstemp(prefix="mpiric-", suffix=".sh")
    try:
        with os.fdopen(file, "w") as stream:
            stream.write(text)
        return scheduler.check(host, path)
    finally:
        Path(path).unlink()

"""A job script for Slurm: layout, site defaults, a recipe's settings, Slurm's own opinion."""

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
from mpiric.schedulers._layout import Wish, plan_layout
from mpiric.schedulers._site_defaults import SiteDefaults, read_site_defaults
from mpiric.schedulers._slurm_jobs import check, read_node_shapes
from mpiric.schedulers._slurm_script import Wording, script_lines, srun_words, text_of
from mpiric.workflows.run.run import RunRequest, prepare


@dataclass(frozen=True)
class ScriptRequest:
    """What the user asked for; "" and 0 where the site's defaults or the node's shape decide."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    wish: Wish = field(default_factory=Wish)
    shape: NodeShape | None = None
    wording: Wording = field(default_factory=lambda: Wording(shebang=""))
    mpi: str = ""  # for srun --mpi
    defaults: Path | None = None
    recipe: Path | None = None
    check: bool = True


@dataclass(frozen=True)
class Script:
    """The script, and what Slurm says to it: None when it was not asked or is not here."""

    text: str
    lines: tuple[ScriptLine, ...]
    layout: BatchLayout
    shape: NodeShape
    launch: tuple[str, ...]
    environment: Mapping[str, str]
    words: tuple[str, ...]
    checked: ScriptCheck | None


def script(request: ScriptRequest, host: Host) -> Script:
    """Write it as text. Raises MpiricError for a job that does not fit the nodes."""
    site = read_site_defaults(request.environment, request.defaults, host.read_text)
    job = launchers.parse_command(request.argv, "", {})
    if job.program[0].startswith("-"):
        raise MpiricError(
            f"{job.program[0]!r} is an option, not a program", hint="options of the script go before '--'"
        )
    wording = _merged(request.wording, site, Path(job.program[0]).name)
    shape = request.shape or site.shape or _shape_of(host, wording.partition)
    named = bool(job.launcher_words)
    layout = plan_layout(_with_ranks(request.wish, job.ranks), shape)
    argv = request.argv if named else (*srun_words(layout, shape, request.mpi or site.mpi), *request.argv)
    launch, words = _with_recipe(request, argv, host) if request.recipe else (Launch(argv, ""), ())
    reasons = {setting.name: f"{setting.knob}, from the recipe" for setting in launch.settings}
    options = [f"{s.name} ({reasons[s.name]})" for s in launch.settings if s.where == "command line"]
    own = "" if named else "each rank on cores of its own, neighbours in rank beside each other"
    wording = replace(
        wording,
        environment={**wording.environment, **launch.environment},
        unset=launch.unset,
        reasons=reasons,
        launch_reason="; ".join(filter(None, [own, *options])),
    )
    lines = script_lines(layout, shape, wording, launch.argv)
    text = text_of(lines)
    checked = _checked(text, host) if request.check else None
    return Script(text, lines, layout, shape, launch.argv, wording.environment, words, checked)


def _with_recipe(request: ScriptRequest, argv: tuple[str, ...], host: Host) -> tuple[Launch, tuple[str, ...]]:
    run = RunRequest(argv, request.working_directory, request.environment, recipe=request.recipe)
    prepared = prepare(run, host)
    return prepared.launch, prepared.words


def _with_ranks(wish: Wish, of_command: int | None) -> Wish:
    """Ranks as the user's own launch line says; a contradiction to --ranks is an error."""
    if of_command is None:
        return wish
    if wish.ranks and wish.ranks != of_command:
        raise MpiricError(
            f"--ranks {wish.ranks} and the command's own {of_command} ranks contradict each other",
            hint="leave one of them away",
        )
    return replace(wish, ranks=of_command)


def _merged(given: Wording, site: SiteDefaults, program: str) -> Wording:
    """The user's words over the site's."""
    own = site.wording
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


def _shape_of(host: Host, partition: str) -> NodeShape:
    shapes = read_node_shapes(host, partition)
    if not shapes:
        raise MpiricError(
            f"how many cores a node{f' of {partition}' if partition else ''} has is not known here",
            hint="give --node 2x64x2 (sockets, cores of each, hardware threads of each core), "
            "or run this where sinfo works",
        )
    return shapes[0]


def _checked(text: str, host: Host) -> ScriptCheck | None:
    file, path = tempfile.mkstemp(prefix="mpiric-", suffix=".sbatch")
    try:
        with os.fdopen(file, "w") as stream:
            stream.write(text)
        return check(host, path)
    finally:
        Path(path).unlink()

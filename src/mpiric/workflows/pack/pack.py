"""Pack a program with what it needs into one file that another site's launcher starts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import __version__
from mpiric.host.host import Host
from mpiric.host.installation.images import best_format, write_image
from mpiric.host.secrets import masked
from mpiric.lab.render import render
from mpiric.model.job import Job
from mpiric.model.pack import Content, ContentKind, Pack
from mpiric.model.quoting import sh_command
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.pack.entry import PackEntry, entry_of
from mpiric.workflows.pack.gather import gather
from mpiric.workflows.pack.glibc import check_glibc
from mpiric.workflows.pack.runtime import PackedRecipe, packed_recipe
from mpiric.workflows.pack.starter import MARK, render_starter
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import PreparedRun, prepare


@dataclass(frozen=True)
class PackRequest:
    """The options of `mpiric pack`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    output: Path | None = None
    image_format: str = ""  # "squashfs", "tar" or "" for the better one that can be made here
    recipe: Path | None = None
    store: Path | None = None
    use_recipe: bool = True
    allow_rounding: bool = False
    more: tuple[Path, ...] = ()  # files and directories that the program opens by itself
    glibc: tuple[int, ...] = ()  # of the oldest target, () when unknown


@dataclass(frozen=True)
class Packed:
    """The file, what is in it, and sentences about the recipe."""

    path: Path
    pack: Pack
    words: tuple[str, ...]


def pack(request: PackRequest, host: Host) -> Packed:
    """Gather, check and write. Raises MpiricError for a program that cannot be carried to that glibc."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    job = parsed.job
    entry = entry_of(job, host)
    prepared = prepare(_run_request(request), host, parsed)
    recipe = packed_recipe(prepared.applied) if prepared.applied else PackedRecipe()
    target = (request.output or Path(request.working_directory, f"{entry.name}.pack")).absolute()
    made = gather(entry, job, recipe, request.more, host)
    made = replace(made, start=replace(made.start, line=_line(job, prepared, recipe, entry, target)))
    if request.glibc:
        check_glibc(made, request.glibc)
    image_format = request.image_format or best_format()
    write_image(
        (_facts(made, request), *made.contents),
        target,
        image_format,
        lambda digest, size: render_starter(made, image_format, digest, size),
    )
    return Packed(target, made, prepared.words)


def _run_request(request: PackRequest) -> RunRequest:
    return RunRequest(
        request.argv,
        request.working_directory,
        request.environment,
        recipe=request.recipe,
        store=request.store,
        use_recipe=request.use_recipe,
        allow_rounding=request.allow_rounding,
        without_recipe="packed without a recipe",
        packs=True,
    )


def _line(job: Job, prepared: PreparedRun, recipe: PackedRecipe, entry: PackEntry, target: Path) -> str:
    """The launch line around the pack: the user's own, with the recipe's options of the launcher."""
    taken = len(entry.command)
    segments = tuple(
        replace(segment, program=(f"./{target.name}", *segment.program[taken:])) for segment in job.segments
    )
    packed = replace(job, segments=segments)
    if not prepared.applied:
        return sh_command((*job.prefix, *job.launcher_words, *_words(packed)))
    return render(recipe.for_launcher, replace(prepared.applied.situation, job=packed)).shell_line()


def _words(job: Job) -> tuple[str, ...]:
    words: list[str] = []
    for number, segment in enumerate(job.segments):
        words += [":"] if number else []
        words += [token for option in segment.options for token in option.tokens]
        words += segment.program
    return tuple(words)


def _facts(made: Pack, request: PackRequest) -> Content:
    """What it is, for whoever finds it: the file whose presence shows that the image is mounted."""
    facts = {
        "name": made.name,
        "packed_by": f"mpiric {__version__}",
        "command": list(masked(request.argv)),
        "start": made.start.line,
        "glibc_needed": ".".join(map(str, made.glibc_needed)),
        "left_out": [{"path": each.path, "why": each.why} for each in made.left_out],
    }
    return Content(MARK, "", ContentKind.RECIPE, (json.dumps(facts, indent=2) + "\n").encode())

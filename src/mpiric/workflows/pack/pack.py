"""Packing of a program with its dependencies into one file that another site's launcher starts."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mpiric import __version__
from mpiric.host.command_log import masked
from mpiric.host.host import Host
from mpiric.host.installation.images import best_format, write_image
from mpiric.host.packaged import packaged_directory
from mpiric.lab.render import render, with_arguments
from mpiric.model.dataclass import dataclass
from mpiric.model.job import Job
from mpiric.model.pack import Content, ContentKind, GlibcNeed, Pack, SettingsNeed
from mpiric.model.quoting import comment, sh_command, sh_word
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.pack.entry import PackEntry, entry_of
from mpiric.workflows.pack.gather import gather
from mpiric.workflows.pack.glibc import check_glibc
from mpiric.workflows.pack.runtime import PackedRecipe, packed_recipe
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import PreparedRun, prepare

MARK = ".mpiric/pack.json"  # its presence shows that the image is mounted
_BLOCK = 4096  # the image starts at a multiple of it
_DIGITS = 10  # fixed width of the offset, so that the script's length does not depend on it
_SCRIPT = "starter.bash"


def render_starter(pack: Pack, image_format: str, digest: str, unpacked_bytes: int) -> bytes:
    """Return the script, padded to a multiple of 4096 bytes; ``digest`` names the mount directory."""
    start = pack.start
    facts = (
        comment(f"{pack.name}, packed by mpiric. It starts as the program did: {start.line}"),
        _scalar("name", pack.name),
        _scalar("digest", digest),
        _scalar("format", image_format),
        _scalar("processor", pack.processor),
        _scalar("unpacked_kib", str(unpacked_bytes >> 10)),
        _scalar("mark", MARK),
        _scalar("python_program", start.python_program),
        _scalar("python_home", start.python_home),
        _scalar("python_environment", start.python_environment),
        _array("command", start.command),
        _array("settings", (f"{name}={value}" for name, value in start.settings)),
        _array("needs", map(_need, start.needs)),
        _array("forced", (f"{name}={value}" for name, value in start.forced)),
        _array("preload", start.preload),
        _array("mpi_names", start.mpi_names),
        _array("required", _highest(pack.needs, required=True)),
        _array("optional", _highest(pack.needs, required=False)),
        _table("runtimes", start.runtimes),
        _table("of_compilers", ((soname, " ".join(versions)) for soname, versions in pack.of_compilers)),
    )
    script = Path(packaged_directory("workflows/pack"), _SCRIPT).read_text(encoding="utf-8")
    before = "\n".join(("#!/bin/bash", *facts, ""))
    length = len(before.encode()) + len(f"offset=$((10#{0:0{_DIGITS}d}))\n") + len(script.encode())
    filled = -(-length // _BLOCK) * _BLOCK
    text = f"{before}offset=$((10#{filled:0{_DIGITS}d}))\n{script}"
    return text.encode() + b"\n" * (filled - length)


def _need(need: SettingsNeed) -> str:
    """Return variables, their need and its patterns, separated by tabs."""
    return "\t".join((" ".join(need.variables), need.what, " ".join(need.paths)))


def _highest(needs: Iterable[GlibcNeed], *, required: bool) -> Iterator[str]:
    """Yield a line for each file, with its highest required version; the needs are sorted."""
    versions = set[str]()
    for need in needs:
        if need.required is required and need.name not in versions:
            versions.add(need.name)
            version = ".".join(map(str, need.version))
            yield f"{version} {need.name} {need.symbol.replace(' ', '-')} {need.stand_in}".rstrip()


def _scalar(name: str, value: str) -> str:
    return f"{name}={sh_word(value)}"


def _table(name: str, rows: Iterable[tuple[str, str]]) -> str:
    return f"declare -A {name}=({' '.join(f'[{sh_word(key)}]={sh_word(value)}' for key, value in rows)})"


def _array(name: str, values: Iterable[str]) -> str:
    return f"{name}=({sh_command(values)})"


@dataclass(frozen=True)
class PackRequest:
    """Options of `mpiric pack`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    output: Path | None = None
    image_format: str = ""  # "squashfs", "tar" or "" for the best available one
    recipe: Path | None = None
    store: Path | None = None
    use_recipe: bool = True
    allow_rounding: bool = False
    more: tuple[Path, ...] = ()  # files and directories that the program opens itself
    glibc: tuple[int, ...] = ()  # release of the oldest target, () if unknown


@dataclass(frozen=True)
class Packed:
    """Packed file, its content, and sentences about the recipe."""

    path: Path
    pack: Pack
    sentences: tuple[str, ...]


def pack(request: PackRequest, host: Host) -> Packed:
    """Gather, check and write the pack. Raises MpiricError if the program does not run with that glibc."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment)
    job = parsed.job
    entry = entry_of(job, host)
    prepared = prepare(
        RunRequest(
            request.argv,
            request.working_directory,
            request.environment,
            recipe=request.recipe,
            store=request.store,
            use_recipe=request.use_recipe,
            allow_rounding=request.allow_rounding,
            without_recipe="packed without a recipe",
            packs=True,
        ),
        host,
        parsed,
    )
    recipe = PackedRecipe()
    if prepared.applied:
        recipe = packed_recipe(prepared.applied)
        job = with_arguments(prepared.configuration, prepared.applied.situation).job
    target = (request.output or Path(request.working_directory, f"{entry.name}.pack")).absolute()
    packed = gather(entry, job, recipe, request.more, host)
    packed = replace(packed, start=replace(packed.start, line=_line(job, prepared, recipe, entry, target)))
    if request.glibc:
        check_glibc(packed, request.glibc)
    image_format = request.image_format or best_format()
    write_image(
        (_facts(packed, request), *packed.contents),
        target,
        image_format,
        lambda digest, size: render_starter(packed, image_format, digest, size),
    )
    return Packed(target, packed, prepared.sentences)


def _line(job: Job, prepared: PreparedRun, recipe: PackedRecipe, entry: PackEntry, target: Path) -> str:
    """Return the launch line for the pack: the user's, with the launcher options of the recipe."""
    count = len(entry.command)
    segments = tuple(
        replace(segment, program=(f"./{target.name}", *segment.program[count:])) for segment in job.segments
    )
    packed = replace(job, segments=segments)
    if not prepared.applied:
        return sh_command((*job.prefix, *job.launcher_words, *packed.after_launcher))
    return render(recipe.for_launcher, replace(prepared.applied.situation, job=packed)).shell_line()


def _facts(packed: Pack, request: PackRequest) -> Content:
    """Return the file that describes the pack; its presence shows that the image is mounted."""
    facts = {
        "name": packed.name,
        "packed_by": f"mpiric {__version__}",
        "command": list(masked(request.argv)),
        "start": packed.start.line,
        "glibc_needed": ".".join(map(str, packed.glibc_needed)),
        "left_out": [{"path": file.path, "why": file.why} for file in packed.left_out],
    }
    return Content(MARK, "", ContentKind.RECIPE, (json.dumps(facts, indent=2) + "\n").encode())

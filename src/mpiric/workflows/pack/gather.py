"""Content of a pack, and the start command in it."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from posixpath import basename, dirname

from mpiric import mpis
from mpiric.host.facts.elf import read_rpath_tags
from mpiric.host.files import exists, is_directory, is_file
from mpiric.host.host import Host
from mpiric.host.installation.native import native_root
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Job
from mpiric.model.pack import Content, ContentKind, LeftOut, Pack, Start
from mpiric.model.translation import NAMES, SONAMES
from mpiric.workflows.pack.entry import PackEntry
from mpiric.workflows.pack.glibc import glibc_needs, versions_of_compilers
from mpiric.workflows.pack.python import PythonParts, inside, python_parts, tree_contents
from mpiric.workflows.pack.runtime import PackedRecipe, runtimes_for

PLACE = "lib"
_COMPANIONS = "companions"  # another kind of table


def libraries_of(
    needed: Sequence[str], opened: Sequence[str], trees: Iterable[str], host: Host
) -> tuple[tuple[Content, ...], tuple[LeftOut, ...]]:
    """Return the libraries that the dynamic linker loads for these files, without those in packed trees.

    The libraries of files that are only ``opened`` at run time are optional too. Each library is packed
    under its own name, with a link for the name that is required, so that versions are visible. Raises
    NotFoundError for a missing library.
    """
    packed: dict[str, Content] = {}
    left_out: dict[str, LeftOut] = {}
    roots = tuple(f"{tree.rstrip('/')}/" for tree in trees)
    for file in (*needed, *opened):
        for path in mpis.libraries_needed_by(host, file, stops_at=lambda name: bool(why_left_out(name))):
            if why := why_left_out(basename(path)):
                left_out.setdefault(basename(path), LeftOut(path, why))
            elif "/" not in path and file in opened:
                left_out.setdefault(path, LeftOut(path, f"not found; {file} needs it"))
            elif "/" not in path:
                raise NotFoundError(
                    f"{file} needs {path}, which is not found here",
                    hint="make the program run here first: `ldd` lists missing libraries",
                )
            elif not host.real_path(path).startswith(roots) and not path.startswith(roots):
                for entry in _entries(path, host, required=file in needed):
                    packed.setdefault(entry.name, entry)
    return tuple(packed.values()), tuple(left_out.values())


def why_left_out(name: str) -> str:
    """Return why a library with this name is not packed, "" if it is."""
    if mpis.family_of_soname(name):
        return str(packaged_table("workflows/pack/site")["mpi"]["why"])
    stem = name.partition(".so")[0]
    for facts in packaged_table("workflows/pack/site").values():
        if any(fnmatch(stem, pattern) for pattern in facts.get("names", ())):
            return str(facts["why"])
    return ""


def _entries(path: str, host: Host, *, required: bool) -> Iterable[Content]:
    """Yield the library under its real name, the required name, and the libraries that it opens itself."""
    real = host.real_path(path)
    yield Content(f"{PLACE}/{basename(real)}", real, ContentKind.LIBRARY, required=required)
    if basename(path) != basename(real):
        yield Content(f"{PLACE}/{basename(path)}", "", ContentKind.LIBRARY, link=basename(real))
    pattern = packaged_table("workflows/pack/site")[_COMPANIONS].get(basename(path).partition(".so")[0])
    for name in host.list_dir(dirname(real)) if pattern else ():
        companion = host.real_path(f"{dirname(real)}/{name}")
        if fnmatch(name, pattern) and name != basename(path):
            yield Content(f"{PLACE}/{name}", companion, ContentKind.LIBRARY, required=False)


_DT_RUNPATH = 29
_RELATIVE = ("$ORIGIN", "${ORIGIN}")


def loosened(content: Content, host: Host) -> Content:
    """Return the file with DT_RPATH changed to DT_RUNPATH, if it is effective and names fixed directories."""
    elf = host.elf(content.source) if content.source and content.data is None else None
    if elf is None or all(path.startswith(_RELATIVE) for path in elf.fixed_path):
        return content
    data = bytearray(Path(content.source).read_bytes())
    for offset in read_rpath_tags(content.source):
        struct.pack_into("<I", data, offset, _DT_RUNPATH)  # low half of the tag in the processor's byte order
    return Content(content.name, content.source, content.kind, bytes(data), required=content.required)


_INPUT = "an input: it is read from where it is"


def gather(entry: PackEntry, job: Job, recipe: PackedRecipe, more: Sequence[Path], host: Host) -> Pack:
    """Return the content, and the reasons for excluded files. Raises NotFoundError for a missing file."""
    python = python_parts(entry, job.working_directory, host) if entry.is_python else None
    program = Content(inside(entry.executable), host.real_path(entry.executable), ContentKind.PROGRAM)
    program_files = (
        *(python.contents if python else (program,)),
        *_contents_of_option(more, job.working_directory),
    )
    preloads = tuple(path for path in recipe.preload if not _is_own(path))
    elfs = [content for content in program_files if content.source and host.elf(content.source)]
    needed = (*(content.source for content in elfs if content.required), *preloads)
    opened = tuple(content.source for content in elfs if not content.required)
    libraries, left_out = libraries_of(needed, opened, python.trees if python else (), host)
    preloaded = (Content(f"{PLACE}/{Path(path).name}", path, ContentKind.LIBRARY) for path in preloads)
    unique = {content.name: content for content in (*program_files, *libraries, *preloaded, *recipe.contents)}
    contents = tuple(loosened(content, host) for content in unique.values())
    names = _mpi_names((*needed, *opened, *(content.source for content in libraries if content.source)), host)
    start = _python_start(entry, python) if python else Start((f"@/{program.name}",))
    versions = versions_of_compilers(contents)
    elf = host.elf(host.real_path(entry.executable))
    pack = Pack(
        entry.name, contents, (), start, elf.processor if elf else "", glibc_needs(contents), versions
    )
    runtimes = runtimes_for(names, pack.glibc_needed, host)
    start = replace(
        start,
        mpi_names=names,
        settings=recipe.settings,
        needs=recipe.needs,
        preload=tuple(_preload(path, names, dict(runtimes.by_mpi)) for path in recipe.preload),
        runtimes=runtimes.by_mpi,
    )
    of_python = python.left_out if python else ()
    arguments = (word for segment in job.segments for word in segment.program[len(entry.command) :])
    paths = (word if word.startswith("/") else f"{job.working_directory}/{word}" for word in arguments)
    return replace(
        pack,
        contents=(*contents, *runtimes.contents),
        left_out=(
            *left_out,
            *of_python,
            *recipe.left_out,
            *runtimes.left_out,
            *tuple(LeftOut(path, _INPUT) for path in dict.fromkeys(paths) if host.is_file(path)),
        ),
        start=replace(start, preload=tuple(filter(None, start.preload))),
    )


def _contents_of_option(more: Sequence[Path], working_directory: str) -> tuple[Content, ...]:
    paths = tuple(Path(working_directory, path) for path in more)
    for path in paths:
        if not exists(path):
            raise NotFoundError(f"{path} is not here", hint="--with takes a file or a directory")
        if not is_file(path) and not is_directory(path):
            raise MpiricError(f"{path} is not a regular file", hint="--with takes a file or a directory")
    return tuple(chain.from_iterable(tree_contents(path, ContentKind.GIVEN) for path in paths))


def _mpi_names(files: Sequence[str], host: Host) -> tuple[str, ...]:
    """Return the required C libraries of MPI; any one of several families is sufficient (mpi4py)."""
    required = mpis.mpi_names(host, files)
    families = dict.fromkeys(family for name in sorted(required) if (family := mpis.family_of_soname(name)))
    named = ((sorted(required & set(NAMES[family])) or [SONAMES[family]]) for family in families)
    return tuple(chain.from_iterable(named))


def _python_start(entry: PackEntry, python: PythonParts) -> Start:
    script = (f"@/{python.script}",) if python.script else ()
    program = f"@/{python.interpreter}"
    if python.environment:
        program = "@env/bin/python"
    forced = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if python.paths:
        forced["PYTHONPATH"] = ":".join(f"@/{path}" for path in python.paths)
    return Start(
        (program, *entry.arguments, *script),
        forced=tuple(forced.items()),
        python_program=python.interpreter,
        python_home=python.home,
        python_environment=python.environment,
    )


def _preload(path: str, mpi_names: Sequence[str], runtimes: dict[str, str]) -> str:
    """Return the path of a preloaded library in the image, "" for a runtime that is not packed."""
    if not _is_own(path):
        return f"@/{PLACE}/{Path(path).name}"
    name = next((runtimes[mpi] for mpi in mpi_names if mpi in runtimes), "")
    return f"@/{name}" if name else ""


def _is_own(path: str) -> bool:
    return Path(path).is_relative_to(native_root())

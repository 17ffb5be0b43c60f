"""Libraries of a program: packed libraries, and libraries left at the site with the reason."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from posixpath import basename, dirname

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import NotFoundError
from mpiric.model.pack import Content, ContentKind, LeftOut

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
                left_out.setdefault(path, LeftOut(path, f"is not here; {file} asks for it"))
            elif "/" not in path:
                raise NotFoundError(
                    f"{file} needs {path}, which is not found here",
                    hint="make the program run here first: `ldd` says what it misses",
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

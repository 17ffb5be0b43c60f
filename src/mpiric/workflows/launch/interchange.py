"""Other members of the program's ABI family made ready to serve it under the library names it asks for."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from posixpath import dirname

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.host.installation.links import linked_directory
from mpiric.model.mpi_library import MpiLibrary


def ready_to_serve(
    libraries: Iterable[MpiLibrary], names: frozenset[str], now: MpiLibrary, host: Host
) -> tuple[MpiLibrary, ...]:
    """The libraries; those that have what ``names`` stand for get a directory of links in their library path.

    Without names (of a script) it is what the library in force, ``now``, is called, and of its other parts
    as many as there are. Links are needed where a library has another name (Debian's ``libmpich.so.12``), and
    where it is found by the dynamic linker alone: the program's own RUNPATH would go before that.
    """
    needed = names or {now.soname}
    wanted = names or {now.soname, *now.sonames}
    return tuple(_ready(library, needed, wanted, host) for library in libraries)


def _ready(library: MpiLibrary, needed: Collection[str], wanted: Collection[str], host: Host) -> MpiLibrary:
    place = dirname(library.library)
    served = {name: mpis.name_under(name, library.sonames) for name in sorted(wanted)}
    if not all(served[name] for name in needed):
        return library
    links = {
        name: f"{place}/{own}"
        for name, own in served.items()
        if own and (name != own or not library.library_path)
    }
    if not links or not (directory := linked_directory(library.label, links, host.environ)):
        return library
    path = (directory, *_of_its_own(library, host), *library.library_path)
    sonames = tuple(dict.fromkeys((*library.sonames, *links)))
    return replace(library, library_path=tuple(dict.fromkeys(path)), sonames=sonames)


def _of_its_own(library: MpiLibrary, host: Host) -> tuple[str, ...]:
    """Where the library looks for what it needs: seen through a link, $ORIGIN is another directory."""
    elf = host.elf(library.library)
    origin = dirname(host.real_path(library.library))
    paths = (path.replace("${ORIGIN}", "$ORIGIN") for path in (elf.search_path if elf else ()))
    found = (path.replace("$ORIGIN", origin) for path in paths if "$ORIGIN" in path)
    return tuple(host.real_path(path) for path in found if host.list_dir(path))

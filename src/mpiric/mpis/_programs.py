"""What an executable needs: its ABI family, by walking what it is linked to."""

import re
from collections.abc import Callable, Iterable, Iterator
from posixpath import basename, dirname

from mpiric.host.facts.linker import linker_cache
from mpiric.host.host import Elf, Host
from mpiric.model.mpi_library import AbiFamily
from mpiric.mpis._sonames import family_of_soname, is_inner_part

_DEPTH = 8
_PARTS = ("mca_", "liboshmem", "libmca_", "libopen-", "libmpi", "libpmpi")  # of MPI libraries themselves
_USUAL_DIRS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")


def symbols(host: Host, library: str) -> frozenset[str]:
    """Names that a library really exports; programs and preloads must go by these."""
    return host.exported_symbols(library)


def abi_of_program(host: Host, path: str) -> AbiFamily | None:
    """ABI family an executable is linked to, directly or through its libraries.

    None for scripts, interpreters, static executables and what cannot be read: there only what gets
    loaded at run time decides.
    """
    library = mpi_needed_by(host, path)
    return family_of_soname(basename(library)) if library else None


def mpi_needed_by(host: Host, path: str) -> str:
    """Path of the MPI library an executable would load as things stand, "" when it needs none.

    A bare name when the dynamic linker would not find it.
    """
    elf = host.elf(path)
    if elf is None:
        return ""
    cache = dict(reversed(linker_cache(host)))
    return next((found for found in _walk(host, path, elf, cache) if family_of_soname(basename(found))), "")


def libraries_needed_by(
    host: Host, path: str, stops_at: Callable[[str], bool] = lambda _: False
) -> tuple[str, ...]:
    """Every shared object an executable would load as things stand, MPI's own dependencies left out.

    The dependencies of those that ``stops_at`` names are left out too.
    """
    elf = host.elf(path)
    return tuple(_walk(host, path, elf, dict(reversed(linker_cache(host))), stops_at)) if elf else ()


def mpi_names(host: Host, files: Iterable[str]) -> frozenset[str]:
    """Names of MPI libraries that a program's files need; the MPI libraries' own needs left out.

    Libraries inside of Open MPI are among them where the program names them itself.
    """
    return frozenset(
        name
        for _, elf in _users(host, files)
        for name in elf.needed
        if family_of_soname(name) is not None or is_inner_part(name)
    )


def mpi_calls(host: Host, files: Iterable[str]) -> frozenset[str]:
    """MPI functions that a program's files can call, as ``mpi_allreduce`` whatever the language.

    Empty when unknown: of a script, or where functions are looked up by name at run time.
    """
    names: set[str] = set()
    for path, elf in _users(host, files):
        imported = host.imported_symbols(path)
        names |= imported
        if any(name.startswith(("_ZN3MPI", "_ZNK3MPI")) for name in imported):
            for binding in (name for name in elf.needed if "cxx" in name):
                names |= host.imported_symbols(_resolved(host, binding, path, elf, _cache(host)))
    return frozenset(_FORM.sub("", name.lower()) for name in names if _CALL.match(name))


def nailed_to(host: Host, files: Iterable[str]) -> str:
    """Path of the MPI library that an RPATH binds the program to, "" when LD_LIBRARY_PATH decides."""
    for path, elf in _users(host, files):
        origin = dirname(host.real_path(path))
        for directory in elf.fixed_path:
            resolved = directory.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            for name in elf.needed:
                if family_of_soname(name) is not None and host.is_file(f"{resolved}/{name}"):
                    return f"{resolved}/{name}"
    return ""


# MPI_Send, PMPI_Send; mpi_send_, mpi_send__ and MPI_SEND of Fortran; mpi_send_f08_ and its like.
_CALL = re.compile(r"P?MPI_|p?mpi_")
_FORM = re.compile(r"^p(?=mpi_)|(_f08(ts)?|_c)?_*$|_f08(ts)?(?=_)")


def _users(host: Host, files: Iterable[str]) -> Iterator[tuple[str, Elf]]:
    """The files that are linked to an MPI library and are no part of one."""
    for path in files:
        name = basename(path)
        if family_of_soname(name) is None and not name.startswith(_PARTS) and (elf := host.elf(path)):
            own = elf.soname and family_of_soname(elf.soname) is not None
            if not own and any(family_of_soname(needed) is not None for needed in elf.needed):
                yield path, elf


def _cache(host: Host) -> dict[str, str]:
    return dict(reversed(linker_cache(host)))


def _walk(
    host: Host,
    path: str,
    elf: Elf,
    cache: dict[str, str],
    stops_at: Callable[[str], bool] = lambda _: False,
) -> Iterator[str]:
    """Breadth first: a direct dependency comes before one of a library's."""
    seen: set[str] = set()
    level = [(path, elf)]
    for _ in range(_DEPTH):
        deeper = []
        for owner, facts in level:
            for name in facts.needed:
                if name in seen:
                    continue
                seen.add(name)
                found = _resolved(host, name, owner, facts, cache)
                yield found or name
                stops = family_of_soname(name) or stops_at(name)
                if found and not stops and (inner := host.elf(found)):
                    deeper.append((found, inner))
        level = deeper


def _resolved(host: Host, name: str, owner: str, elf: Elf, cache: dict[str, str]) -> str:
    """The dynamic linker's order without RPATH inheritance: LD_LIBRARY_PATH, RUNPATH, cache, usual."""
    if "/" in name:
        return name
    origin = dirname(host.real_path(owner))
    own = [part.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for part in elf.search_path]
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    for directory in [*user, *own]:
        if host.is_file(f"{directory}/{name}"):
            return f"{directory}/{name}"
    if name in cache:
        return cache[name]
    return next((f"{d}/{name}" for d in _USUAL_DIRS if host.is_file(f"{d}/{name}")), "")

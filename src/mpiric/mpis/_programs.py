"""MPI libraries, functions and ABI of an executable, from its dynamic dependencies and their names."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from posixpath import basename, dirname

from mpiric.host.facts.file_search import linker_cache
from mpiric.host.host import Elf, Host
from mpiric.model.mpi_library import AbiFamily

_FAMILIES = (
    (r"libmpi_abi\.so\.1", AbiFamily.STANDARD),
    (r"libmpifort_abi\.so\.1", AbiFamily.STANDARD),
    # Names of the MPICH ABI initiative, of Debian, and of Cray (with the compiler).
    (r"libmpi(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi_ilp64\.so\.\d+", AbiFamily.MPICH),  # Intel MPI, in addition to libmpi.so.12
    (r"libmpich(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(f90|fort)?_(cray|gnu|intel|aocc|nvidia|pgi|amd)(_\d+)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(_cxx|_mpifh|_usempi\w*(-gfortran)?|_java)?\.so\.40", AbiFamily.OPENMPI),
)


@lru_cache(maxsize=65536)  # large directories are searched once per implementation
def family_of_soname(soname: str) -> AbiFamily | None:
    """Return the ABI family of programs that need a library of this name; None if it is not MPI."""
    if not soname.startswith("libmpi"):
        return None
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, soname)), None)


def is_inner_part(soname: str) -> bool:
    """Check whether a name belongs to an internal library of Open MPI, which has its own version."""
    return re.fullmatch(r"(libopen-(pal|rte)|liboshmem)\.so\.\d+", soname) is not None


_DEPTH = 8
# Prefixes of parts of MPI libraries.
_PARTS = ("mca_", "liboshmem", "libmca_", "libopen-", "libmpi", "libpmpi")
_USUAL_DIRS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")


def symbols(host: Host, library: str) -> frozenset[str]:
    """Return the names that a library exports."""
    return host.exported_symbols(library)


def abi_of_program(host: Host, path: str) -> AbiFamily | None:
    """Return the ABI family that an executable is linked to, directly or through its libraries.

    None for scripts, interpreters, static executables and unreadable files, where only libraries loaded at
    run time decide.
    """
    library = mpi_needed_by(host, path)
    return family_of_soname(basename(library)) if library else None


def mpi_needed_by(host: Host, path: str) -> str:
    """Return the path of the MPI library that an executable would load, "" if it needs none.

    A bare name if the dynamic linker would not find it.
    """
    elf = host.elf(path)
    if elf is None:
        return ""
    cache = dict(reversed(linker_cache(host)))
    return next(
        (library for library in _walk(host, path, elf, cache) if family_of_soname(basename(library))), ""
    )


def libraries_needed_by(
    host: Host, path: str, stops_at: Callable[[str], bool] = lambda _: False
) -> tuple[str, ...]:
    """Return all shared objects that an executable would load, without the dependencies of MPI libraries.

    ``stops_at`` names further libraries whose dependencies are left out.
    """
    elf = host.elf(path)
    return tuple(_walk(host, path, elf, dict(reversed(linker_cache(host))), stops_at)) if elf else ()


def mpi_names(host: Host, files: Iterable[str]) -> frozenset[str]:
    """Return the names of MPI libraries that a program's files need, without dependencies of MPI libraries.

    Internal libraries of Open MPI are included if the program itself names them.
    """
    return frozenset(
        name
        for _, elf in _users(host, files)
        for name in elf.needed
        if family_of_soname(name) is not None or is_inner_part(name)
    )


def mpi_calls(host: Host, files: Iterable[str]) -> frozenset[str]:
    """Return the MPI functions that a program's files can call, as ``mpi_allreduce`` in any language.

    Empty if unknown: scripts, or programs that look up functions at run time.
    """
    names: set[str] = set()
    for path, elf in _users(host, files):
        imported = host.imported_symbols(path)
        names |= imported
        if any(name.startswith(("_ZN3MPI", "_ZNK3MPI")) for name in imported):
            for binding in (name for name in elf.needed if "cxx" in name):
                names |= host.imported_symbols(
                    _resolved(host, binding, path, elf, dict(reversed(linker_cache(host))))
                )
    return frozenset(_FORM.sub("", name.lower()) for name in names if _CALL.match(name))


def nailed_to(host: Host, files: Iterable[str]) -> str:
    """Return the path of the MPI library that an RPATH enforces, "" if LD_LIBRARY_PATH decides."""
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
    """Yield the files that are linked to an MPI library and are not part of one."""
    for path in files:
        name = basename(path)
        if family_of_soname(name) is None and not name.startswith(_PARTS) and (elf := host.elf(path)):
            is_mpi = elf.soname and family_of_soname(elf.soname) is not None
            if not is_mpi and any(family_of_soname(needed) is not None for needed in elf.needed):
                yield path, elf


def _walk(
    host: Host, path: str, elf: Elf, cache: dict[str, str], stops_at: Callable[[str], bool] = lambda _: False
) -> Iterator[str]:
    """Yield dependencies breadth first: direct ones before indirect ones."""
    visited: set[str] = set()
    level = [(path, elf)]
    for _ in range(_DEPTH):
        deeper = []
        for owner, facts in level:
            for name in facts.needed:
                if name in visited:
                    continue
                visited.add(name)
                resolved = _resolved(host, name, owner, facts, cache)
                yield resolved or name
                stops = family_of_soname(name) or stops_at(name)
                if resolved and not stops and (inner := host.elf(resolved)):
                    deeper.append((resolved, inner))
        level = deeper


def _resolved(host: Host, name: str, owner: str, elf: Elf, cache: dict[str, str]) -> str:
    """Resolve a name by LD_LIBRARY_PATH, RUNPATH, linker cache and defaults; inherited RPATHs are ignored."""
    if "/" in name:
        return name
    origin = dirname(host.real_path(owner))
    run_path = [part.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for part in elf.search_path]
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    for directory in [*user, *run_path]:
        if host.is_file(f"{directory}/{name}"):
            return f"{directory}/{name}"
    if name in cache:
        return cache[name]
    return next((f"{d}/{name}" for d in _USUAL_DIRS if host.is_file(f"{d}/{name}")), "")

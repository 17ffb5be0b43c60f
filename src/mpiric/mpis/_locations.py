"""Candidate locations of MPI libraries, and the libraries that programs need, by their files.

Modulefiles of environment modules are read, not executed: ``module avail`` is a shell function that is
missing in some batch shells, and modulefiles are plain text in the directories of MODULEPATH (Tcl:
Environment Modules; Lua: Lmod).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from posixpath import basename, dirname, relpath

from mpiric.host.files import linker_cache, matching
from mpiric.host.host import Elf, Host
from mpiric.host.user_directories import homes
from mpiric.model.dataclass import dataclass
from mpiric.model.mpi_library import AbiFamily
from mpiric.mpis._implementation import fields_of, implementations

_USUAL = (
    "/etc/modulefiles",
    "/usr/share/modules/modulefiles",
    "/usr/share/modulefiles",
    "/usr/share/lmod/lmod/modulefiles",
)
_DEPTH = 4  # deepest known layout: MODULEPATH/compiler/version/openmpi/4.1.6.lua


def module_prefixes(host: Host) -> Iterator[tuple[str, str]]:
    """Yield prefix and module name of every modulefile with the name of an MPI."""
    names = re.compile("|".join(entry.modules for entry in implementations().values() if entry.modules))
    named = [part for part in host.environ.get("MODULEPATH", "").split(":") if part]
    home = host.environ.get("MODULESHOME", "")
    for root in dict.fromkeys([*named, *([f"{home}/modulefiles"] if home else []), *_USUAL]):
        for path in _files(host, root, _DEPTH):
            name = relpath(path, root).removesuffix(".lua")
            if names.search(name.lower()):
                text = host.read_text(path) or ""
                yield from ((prefix, name) for prefix in prefixes_in(text))


def prefixes_in(text: str) -> tuple[str, ...]:
    """Return the prefixes that a modulefile adds to PATH in order, with its variables substituted."""
    variables = dict(re.findall(r"^\s*set\s+(\w+)\s+\"?([^\s\"]+)", text, re.MULTILINE))
    variables |= dict(re.findall(r"^\s*(?:local\s+)?(\w+)\s*=\s*\"([^\"]+)\"", text, re.MULTILINE))
    text = re.sub(
        r"pathJoin\(([^()]*)\)", lambda m: "/".join(_word(w, variables) for w in m[1].split(",")), text
    )
    prefixes = []
    for match in re.finditer(r"[ \t]PATH[ \t]+\"?([^\s\"]+)|\"PATH\"\s*,\s*([^),\n]+)", text):
        value = _filled(_bare(match[1]), variables) if match[1] else _word(match[2], variables)
        prefixes += [
            part.removesuffix("/bin")
            for part in value.split(":")
            if part.startswith("/") and part.endswith("/bin")
        ]
    return tuple(dict.fromkeys(prefixes))


def _files(host: Host, directory: str, depth: int) -> Iterator[str]:
    for name in host.list_dir(directory):
        path = f"{directory}/{name}"
        if host.is_file(path):
            if not name.startswith("."):
                yield path
        elif depth > 1:
            yield from _files(host, path, depth - 1)


def _bare(word: str) -> str:
    """Strip Tcl's braces around a word, but keep the braces of a variable in it."""
    return word[1:-1] if word.startswith("{") and word.endswith("}") else word


def _filled(text: str, variables: dict[str, str]) -> str:
    for _ in range(4):  # limit of nested variables
        text = re.sub(r"\$\{?(\w+)\}?", lambda m: variables.get(m[1], m[0]), text)
    return text


def _word(text: str, variables: dict[str, str]) -> str:
    """Evaluate a Lua expression of quoted words, names and ``..``."""
    parts = [part.strip() for part in text.split("..")]
    return "".join(part.strip("\"'") if part[:1] in "\"'" else variables.get(part, part) for part in parts)


@dataclass(frozen=True)
class Location:
    """Prefix to search, or one library; the first location that leads to a library is recorded."""

    path: str
    found_by: str
    module: str = ""


_LAUNCHER_NAMES = ("mpiexec", "mpirun", "mpiexec.hydra", "mpicc", "orterun", "prterun")

# Variables of common module systems, set for any MPI.
_VARIABLES = ("MPI_HOME", "MPI_ROOT")

_NAMES = re.compile(r"lib(mpi|mpich|mpi_abi|mpi_(cray|gnu_\d+|intel\w*|aocc\w*|nvidia\w*))\.so\.\d+")

_PREFIXES = ("/usr/local/*mpi*", "/usr/lib64/mpi/gcc/*")  # prefixes of any MPI; the second is used by SUSE

_CONDA_ROOTS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda", "conda")


def locations(host: Host) -> Iterator[Location]:
    """Yield all locations, most trusted first; the user's PATH leads."""
    for directory in dict.fromkeys(host.environ.get("PATH", "").split(":")):
        for name in _LAUNCHER_NAMES:
            path = f"{directory}/{name}"
            if directory.startswith("/") and host.is_executable(path):
                yield Location(prefix_of_launcher(host, path), "path")
    yield from _named_by_variables(host)
    for prefix in (host.environ.get("VIRTUAL_ENV", ""), dirname(dirname(host.python))):
        if prefix.startswith("/") and any(host.is_executable(f"{prefix}/bin/{n}") for n in _LAUNCHER_NAMES):
            yield Location(prefix, "python")
    for home in homes(host.environ):
        yield from (Location(path, "mpiric") for path in matching(host, f"{home}/*"))
    if active := host.environ.get("CONDA_PREFIX"):
        yield Location(active, "conda")
    user = host.environ.get("HOME", "")
    roots = [f"{user}/{name}" for name in _CONDA_ROOTS] if user else []
    for root in [*roots, "/opt/conda", "/opt/miniconda3", "/opt/miniforge3"]:
        if host.list_dir(root):
            yield Location(root, "conda")
            yield from (Location(path, "conda") for path in matching(host, f"{root}/envs/*"))
    yield from (Location(prefix, "module", module) for prefix, module in module_prefixes(host))
    for name, path in linker_cache(host):
        if _NAMES.fullmatch(name):
            real = host.real_path(path)
            debian = re.match(r"(/usr)?/lib/[\w]+-linux-gnu/", real) is not None
            yield Location(path, "debian" if debian else "system")
    yield from (
        Location(path, "opt")
        for pattern in (*fields_of(lambda implementation: implementation.prefixes), *_PREFIXES)
        for path in matching(host, pattern)
    )
    yield from _of_spack(host)


def library_dirs(host: Host, prefix: str) -> tuple[str, ...]:
    """Return the directories below a prefix that may have a libmpi."""
    below = ["lib", "lib64", "lib/release", "lib/release_mt", "intel64/lib", "intel64/lib/release"]
    triplets = [name for name in host.list_dir(f"{prefix}/lib") if name.endswith("-linux-gnu")]
    for triplet in triplets:
        below += [f"lib/{triplet}", f"lib/{triplet}/openmpi/lib", f"lib/{triplet}/mpich/lib"]
    existing = [f"{prefix}/{name}" for name in below if host.list_dir(f"{prefix}/{name}")]
    return tuple(dict.fromkeys(host.real_path(path) for path in existing))


def prefix_of_launcher(host: Host, launcher: str) -> str:
    """Return the prefix of a launcher: resolve links and alternatives, strip ``bin``."""
    directory = dirname(host.real_path(launcher))
    for tail in ("/intel64/bin", "/bin"):
        if directory.endswith(tail):
            return directory[: -len(tail)] or "/"
    return dirname(directory)


def _named_by_variables(host: Host) -> Iterator[Location]:
    for name in (*fields_of(lambda implementation: implementation.home_variables), *_VARIABLES):
        value = host.environ.get(name, "")
        if value.startswith("/"):
            yield Location(host.real_path(value), "environment")
    for directory in host.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if directory.startswith("/"):
            names = (name for name in host.list_dir(directory) if _NAMES.fullmatch(name))
            yield from (Location(f"{directory}/{name}", "environment") for name in names)


def _of_spack(host: Host) -> Iterator[Location]:
    root = host.environ.get("SPACK_ROOT")
    if not root:
        return
    name = rf"({'|'.join(fields_of(lambda implementation: implementation.spack_names))})-[^/]*"
    # arch/compiler/name-version-hash up to Spack 0.23, arch/name-version-hash since then.
    for pattern in (f"{root}/opt/spack/*/*/*", f"{root}/opt/spack/*/*"):
        for path in matching(host, pattern):
            if re.fullmatch(name, basename(path)):
                yield Location(path, "spack")
                yield from (Location(inner, "spack") for inner in matching(host, f"{path}/mpi/*"))


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


_LIBRARY_DEPTH = 8
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
    for _ in range(_LIBRARY_DEPTH):
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

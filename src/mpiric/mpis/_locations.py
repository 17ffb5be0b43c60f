"""Candidate locations of MPI libraries; no library is opened.

Modulefiles of environment modules are read, not executed: ``module avail`` is a shell function that is
missing in some batch shells, and modulefiles are plain text in the directories of MODULEPATH (Tcl:
Environment Modules; Lua: Lmod).
"""

import re
from collections.abc import Iterator
from posixpath import basename, dirname, relpath

from mpiric.host.facts.file_search import linker_cache, matching
from mpiric.host.host import Host
from mpiric.host.installation.homes import homes
from mpiric.model.dataclass import dataclass
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
    yield from _on_path(host)
    yield from _named_by_variables(host)
    yield from _of_python(host)
    yield from _of_mpiric(host)
    yield from _of_conda(host)
    yield from (Location(prefix, "module", module) for prefix, module in module_prefixes(host))
    yield from _known_to_the_linker(host)
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


def _on_path(host: Host) -> Iterator[Location]:
    for directory in dict.fromkeys(host.environ.get("PATH", "").split(":")):
        for name in _LAUNCHER_NAMES:
            path = f"{directory}/{name}"
            if directory.startswith("/") and host.is_executable(path):
                yield Location(prefix_of_launcher(host, path), "path")


def _named_by_variables(host: Host) -> Iterator[Location]:
    for name in (*fields_of(lambda implementation: implementation.home_variables), *_VARIABLES):
        value = host.environ.get(name, "")
        if value.startswith("/"):
            yield Location(host.real_path(value), "environment")
    for directory in host.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if directory.startswith("/"):
            names = (name for name in host.list_dir(directory) if _NAMES.fullmatch(name))
            yield from (Location(f"{directory}/{name}", "environment") for name in names)


def _of_python(host: Host) -> Iterator[Location]:
    """Yield the environment of mpiric itself: `pip install mpich` installs an MPI there."""
    for prefix in (host.environ.get("VIRTUAL_ENV", ""), dirname(dirname(host.python))):
        if prefix.startswith("/") and any(host.is_executable(f"{prefix}/bin/{n}") for n in _LAUNCHER_NAMES):
            yield Location(prefix, "python")


def _of_mpiric(host: Host) -> Iterator[Location]:
    for home in homes(host.environ):
        yield from (Location(path, "mpiric") for path in matching(host, f"{home}/*"))


def _of_conda(host: Host) -> Iterator[Location]:
    if active := host.environ.get("CONDA_PREFIX"):
        yield Location(active, "conda")
    user = host.environ.get("HOME", "")
    roots = [f"{user}/{name}" for name in _CONDA_ROOTS] if user else []
    for root in [*roots, "/opt/conda", "/opt/miniconda3", "/opt/miniforge3"]:
        if host.list_dir(root):
            yield Location(root, "conda")
            yield from (Location(path, "conda") for path in matching(host, f"{root}/envs/*"))


def _known_to_the_linker(host: Host) -> Iterator[Location]:
    for name, path in linker_cache(host):
        if _NAMES.fullmatch(name):
            real = host.real_path(path)
            debian = re.match(r"(/usr)?/lib/[\w]+-linux-gnu/", real) is not None
            yield Location(path, "debian" if debian else "system")


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

"""What every file of this folder declares of its MPI implementation, and the registry of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import mpiric.mpis
from mpiric.model.capabilities import Capabilities
from mpiric.model.count import number_of
from mpiric.model.fabric import TransportReport
from mpiric.model.knob import Spell
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.mpi_package import MpiPackage
from mpiric.model.policy import Policy, Span
from mpiric.model.registry import modules_of

Defaults = tuple[str, ...]  # decision trees built into a library


@dataclass(frozen=True)
class Installation:
    """Location and version of one library, for the pure functions of an implementation."""

    prefix: str
    library_dir: str
    version: str
    system: bool  # in a directory the dynamic linker searches by itself
    libfabric_dirs: tuple[str, ...] = ()  # with a libfabric.so.1; "" stands for the system's own
    provider_dirs: tuple[str, ...] = ()  # those of them with their providers in `prov`, as Intel ships them
    configured_prefix: str = ""  # the prefix compiled in, "" when unknown


@dataclass(frozen=True)
class Surroundings:
    """What must be set for a program to run under a library."""

    environment: Mapping[str, str] = field(default_factory=dict)
    library_path: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()


def library_directory(installation: Installation) -> Surroundings:
    """The library's directory on the library path, unless the dynamic linker searches it by itself."""
    return Surroundings(library_path=() if installation.system else (installation.library_dir,))


@dataclass(frozen=True)
class Exported:
    """A collective policy in a library's own form; no files and variables where it chooses nothing.

    ``files``: name → text. ``by_file``: variable → name of the file whose path it takes.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    by_file: Mapping[str, str] = field(default_factory=dict)
    by_ranks: Mapping[Span, Mapping[str, str]] = field(default_factory=dict)  # sets that depend on the ranks
    left_out: tuple[str, ...] = ()  # sentences: what of the policy this form cannot express


@dataclass(frozen=True)
class Implementation:
    """One MPI implementation: identity, settings and pure functions."""

    title: str  # as its makers write it
    family: AbiFamily
    libraries: tuple[str, ...]  # file names of the library, shell patterns, the most telling first
    compilers: Mapping[str, tuple[str, ...]]  # language → names in its bin directory
    recognise: Callable[[str], str | None]  # text of MPI_Get_library_version → version, None for another
    dialect: Callable[[str], str]  # version → registry key in launchers/ that its own launcher speaks
    transports: Callable[[str, str], tuple[str, ...]]  # version text, information → those compiled in
    capabilities: Callable[[str, tuple[str, ...]], Capabilities]  # version, transports → what it can do
    spellers: Callable[[str], Mapping[str, Spell]]  # version → knob → how it is set
    surroundings: Callable[[Installation], Surroundings] = library_directory
    is_base: bool = False  # others derive from it and are recognised first

    # Its launcher.
    launchers: tuple[str, ...] = ()  # names in its bin directory, the most telling first
    recognise_launcher: Callable[[str], str | None] = lambda _text: None  # `mpiexec --version` → version
    system_launchers: Mapping[str, str] = field(default_factory=dict)  # command on PATH → dialect

    # Where it is found.
    information: tuple[str, ...] = ()  # a command in its bin directory that lists what is compiled in
    configured_prefix: Callable[[str], str] = lambda _information: ""  # information → prefix compiled in
    modules: str = ""  # regular expression of environment-module names
    home_variables: tuple[str, ...] = ()  # that name a prefix
    prefixes: tuple[str, ...] = ()  # usual places, shell patterns
    spack_names: tuple[str, ...] = ()  # of its packages, regular expressions
    misleading: tuple[str, ...] = ()  # variables of a moved one that lead another astray
    package: MpiPackage | None = None  # from PyPI

    # Its variables.
    prefix: str = ""  # with which the names of its settings begin
    shared_prefixes: tuple[str, ...] = ()  # of other implementations' settings that it obeys
    variables: tuple[str, ...] = ()  # beginnings of all variables that can change how it runs

    # What it prints of its connections, and the policies it can carry out.
    ask_connections: Mapping[str, str] = field(default_factory=dict)  # variables that make it print them
    connections: Callable[[str], TransportReport] = lambda _text: (
        TransportReport()
    )  # of all that a run printed
    export: Callable[[Policy, Defaults], Exported] | None = None  # its own tuning files
    export_files: tuple[str, ...] = ()  # names of these files, shell patterns
    embedded_defaults: bytes = b""  # with which decision trees built into the library begin


@lru_cache(maxsize=1)
def implementations() -> dict[str, Implementation]:
    """Registry key → implementation, derivatives before those that they derive from."""
    found = {name: module.IMPLEMENTATION for name, module in modules_of(mpiric.mpis).items()}
    return dict(sorted(found.items(), key=lambda item: item[1].is_base))


def capabilities_of(name: str, version: str, transports: tuple[str, ...]) -> Capabilities:
    """What a version of an implementation can do; nothing when it is none of these."""
    implementation = implementations().get(name)
    if implementation is None:
        return Capabilities()
    found = implementation.capabilities(version, transports)
    settings = found.settings or frozenset(implementation.spellers(version))
    return replace(found, title=implementation.title, settings=settings)


def with_capabilities(library: MpiLibrary) -> MpiLibrary:
    """The library with what its version can do."""
    found = capabilities_of(library.implementation, library.version, library.transports)
    return replace(library, capabilities=found)


def variable_beginnings() -> tuple[str, ...]:
    """Beginnings of the variables of every implementation."""
    return tuple(dict.fromkeys(name for each in implementations().values() for name in each.variables))


def major(version: str) -> int:
    """First number of a version, 0 when it has none."""
    head = version.split(".")[0]
    return number_of(head)


def fields_of(read: Callable[[Implementation], Iterable[str]]) -> tuple[str, ...]:
    """One field of every implementation, joined."""
    return tuple(dict.fromkeys(value for each in implementations().values() for value in read(each)))

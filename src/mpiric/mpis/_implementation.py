"""Declaration of an MPI implementation, and the registry of implementations."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache

import mpiric.mpis
from mpiric.host.packaged import modules_of
from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.fabric import TransportReport
from mpiric.model.knob import Spell
from mpiric.model.mpi_library import AbiFamily, Capabilities, MpiLibrary, MpiPackage
from mpiric.model.policy import Policy, Span

Defaults = tuple[str, ...]  # decision trees built into a library


@dataclass(frozen=True)
class Installation:
    """Location and version of an installed library, input of the functions of an implementation."""

    prefix: str
    library_dir: str
    version: str
    system: bool  # the dynamic linker searches its directory by default
    libfabric_dirs: tuple[str, ...] = ()  # directories with a libfabric.so.1; "" means the system's
    provider_dirs: tuple[str, ...] = ()  # directories that also have providers in `prov`
    configured_prefix: str = ""  # prefix compiled in; "" if unknown


@dataclass(frozen=True)
class Surroundings:
    """Environment that a program needs to run under a library."""

    environment: Mapping[str, str] = field(default_factory=dict)
    library_path: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()


def library_directory(installation: Installation) -> Surroundings:
    """Put the library's directory on the library path unless the dynamic linker searches it by default."""
    return Surroundings(library_path=() if installation.system else (installation.library_dir,))


@dataclass(frozen=True)
class Exported:
    """Collective policy in a library's format; empty if it chooses nothing.

    ``files``: name → text. ``by_file``: variable → name of the file whose path is its value.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    by_file: Mapping[str, str] = field(default_factory=dict)
    # Variables that depend on the number of ranks.
    by_ranks: Mapping[Span, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # sentences about choices that this format cannot express


@dataclass(frozen=True)
class Implementation:
    """MPI implementation: identity, settings and pure functions."""

    title: str  # official spelling
    family: AbiFamily
    libraries: tuple[str, ...]  # file names of the library as shell patterns, most specific first
    compilers: Mapping[str, tuple[str, ...]]  # language → names in its bin directory
    recognise: Callable[[str], str | None]  # text of MPI_Get_library_version → version, or None
    dialect: Callable[[str], str]  # version → registry key of its launcher in launchers/
    transports: Callable[[str, str], tuple[str, ...]]  # version text, information → transports compiled in
    capabilities: Callable[[str, tuple[str, ...]], Capabilities]  # version, transports → capabilities
    spellers: Callable[[str], Mapping[str, Spell]]  # version → knob → speller
    surroundings: Callable[[Installation], Surroundings] = library_directory
    is_base: bool = False  # derived implementations are recognised first

    # Its launcher.
    launchers: tuple[str, ...] = ()  # names in its bin directory, most specific first
    recognise_launcher: Callable[[str], str | None] = lambda _text: None  # `mpiexec --version` → version
    system_launchers: Mapping[str, str] = field(default_factory=dict)  # launcher on PATH → dialect

    # Location.
    information: tuple[str, ...] = ()  # command in its bin directory that lists compiled-in features
    configured_prefix: Callable[[str], str] = lambda _information: ""  # information → prefix compiled in
    modules: str = ""  # regular expression of environment-module names
    home_variables: tuple[str, ...] = ()  # variables with its prefix
    prefixes: tuple[str, ...] = ()  # usual prefixes as shell patterns
    spack_names: tuple[str, ...] = ()  # regular expressions of package names
    misleading: tuple[str, ...] = ()  # variables of a relocated library that break other libraries
    package: MpiPackage | None = None  # package on PyPI

    # Variables.
    prefix: str = ""  # prefix of the names of its settings
    shared_prefixes: tuple[str, ...] = ()  # prefixes of settings of other implementations that it reads
    variables: tuple[str, ...] = ()  # prefixes of all variables that affect it

    # Reports of transports, and tuning files.
    # Variables that make it print its transports.
    ask_connections: Mapping[str, str] = field(default_factory=dict)
    # Output of a run → transports.
    connections: Callable[[str], TransportReport] = lambda _output: TransportReport()
    export: Callable[[Policy, Defaults], Exported] | None = None  # writer of its tuning files
    export_files: tuple[str, ...] = ()  # names of these files as shell patterns
    embedded_defaults: bytes = b""  # first bytes of decision trees built into the library


@lru_cache(maxsize=1)
def implementations() -> dict[str, Implementation]:
    """Return registry key → implementation, derived implementations before their base."""
    entries = {name: module.IMPLEMENTATION for name, module in modules_of(mpiric.mpis).items()}
    return dict(sorted(entries.items(), key=lambda item: item[1].is_base))


def capabilities_of(name: str, version: str, transports: tuple[str, ...]) -> Capabilities:
    """Return the capabilities of a version of an implementation; none if it is unknown."""
    implementation = implementations().get(name)
    if implementation is None:
        return Capabilities()
    capabilities = implementation.capabilities(version, transports)
    settings = capabilities.settings or frozenset(implementation.spellers(version))
    return replace(capabilities, title=implementation.title, settings=settings)


def with_capabilities(library: MpiLibrary) -> MpiLibrary:
    """Return the library with the capabilities of its version."""
    capabilities = capabilities_of(library.implementation, library.version, library.transports)
    return replace(library, capabilities=capabilities)


def variable_beginnings() -> tuple[str, ...]:
    """Return the prefixes of the variables of every implementation."""
    return fields_of(lambda implementation: implementation.variables)


def major(version: str) -> int:
    """Return the first number of a version, 0 if it has none."""
    return number_of(version.split(".")[0])


def fields_of(read: Callable[[Implementation], Iterable[str]]) -> tuple[str, ...]:
    """Return the values of a field of all implementations, without duplicates."""
    return tuple(dict.fromkeys(value for entry in implementations().values() for value in read(entry)))

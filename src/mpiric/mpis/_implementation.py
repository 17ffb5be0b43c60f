"""Declaration of an MPI implementation, their registry, and their functions by name."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from posixpath import dirname

import mpiric.mpis
from mpiric.algorithms.library import find_algorithm, version_numbers
from mpiric.host.host import HERE, Host
from mpiric.host.packaged import modules_of
from mpiric.model.amount import number_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding, MismatchError
from mpiric.model.fabric import TransportReport
from mpiric.model.job import Spelling
from mpiric.model.knob import Spell
from mpiric.model.mpi_library import AbiFamily, Capabilities, MpiLibrary, MpiPackage
from mpiric.model.policy import Policy, Span
from mpiric.model.situation import Situation

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


_ALGORITHM = "-algorithm"
_SHOWN = 5


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """Return the library's setting for ``knob=value``; None if it has none."""
    mpi = situation.mpi
    implementation = implementations().get(mpi.implementation)
    speller = implementation.spellers(mpi.version).get(knob) if implementation else None
    if speller is not None:
        return speller(value, situation)
    if not knob.endswith(_ALGORITHM):
        return None
    collective = knob.removesuffix(_ALGORITHM).replace("-", "_")
    algorithm = find_algorithm(mpi.implementation, collective, value, version_numbers(mpi.version))
    return Spelling(environment=dict(algorithm.environment)) if algorithm else None


def export(policy: Policy, defaults: Defaults = ()) -> Exported:
    """Return files and variables with which the library itself makes the choices of the policy.

    ``defaults``: decision trees built into the library (MPICH only). Raises MismatchError if the library
    reads no tuning files.
    """
    exporters = {name: entry.export for name, entry in implementations().items() if entry.export is not None}
    if policy.implementation not in exporters:
        raise MismatchError(
            f"{policy.implementation} reads no tuning file that mpiric can write",
            hint=f"libraries with tuning files: {', '.join(sorted(exporters))}",
        )
    return exporters[policy.implementation](policy, defaults)


def export_files() -> tuple[str, ...]:
    """Return the names of exported files as shell patterns."""
    return fields_of(lambda entry: entry.export_files)


def embedded_defaults(implementation: str) -> bytes:
    """Return the first bytes of the decision trees that a library contains as text; empty if it has none."""
    entry = implementations().get(implementation)
    return entry.embedded_defaults if entry else b""


def foreign_settings(inherited: Mapping[str, str], library: MpiLibrary) -> tuple[Finding, ...]:
    """Return a finding for each other implementation whose settings are set but ignored by this library."""
    profile = implementations().get(library.implementation)
    honoured = (profile.prefix, *profile.shared_prefixes) if profile else ()
    findings = []
    for name, other in implementations().items():
        names = sorted(
            variable for variable in inherited if other.prefix and variable.startswith(other.prefix)
        )
        if names and other.prefix not in honoured:
            findings.append(
                Finding(
                    "settings-of-another-mpi",
                    f"settings of {name} have no effect under {library.implementation}",
                    ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else ""),
                    f"check that {library.label} is the intended library",
                )
            )
    return tuple(findings)


def is_read_by_alone(variable: str, implementation: str) -> bool:
    """Check whether a variable is a setting of this implementation that no other library reads.

    Variables of libfabric, UCX, OpenMP and the C library are read under all of them.
    """
    readers = {
        name
        for name, entry in implementations().items()
        for beginning in (entry.prefix, *entry.shared_prefixes, *entry.variables)
        if beginning and variable.startswith(beginning)
    }
    return readers == {implementation}


def ask_connections(implementation: str) -> Mapping[str, str]:
    """Return variables that make a library print its transports."""
    entry = implementations().get(implementation)
    return entry.ask_connections if entry else {}


def connections(implementation: str, text: str) -> TransportReport:
    """Return the transports that a library reports in the output of a run; empty if it reports none."""
    entry = implementations().get(implementation)
    return entry.connections(text) if entry else TransportReport()


def packages() -> dict[str, MpiPackage]:
    """Return registry key → package of the implementations on PyPI, in alphabetical order.

    Each is installed into a prefix of its own: the wheels share file names (``bin/mpiexec``,
    ``lib/libmpi.so.12``, ``include/mpi.h``) and would overwrite one another.
    """
    packages = {name: entry.package for name, entry in implementations().items()}
    return {name: package for name, package in sorted(packages.items()) if package is not None}


_TIMEOUT_S = 15.0
# MPI_T may be used before MPI_Init. The numbers are MPICH's: MPI_INT, MPI_CHAR and MPI_T_BIND_NO_OBJECT.
_ASK = """\
import ctypes, json, sys
library, found = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL), {}
number = ctypes.c_int()
if library.MPI_T_init_thread(0, ctypes.byref(number)) or library.MPI_T_cvar_get_num(ctypes.byref(number)):
    sys.exit(1)
for index in range(number.value):
    name, length = ctypes.create_string_buffer(256), ctypes.c_int(256)
    text, text_length = ctypes.create_string_buffer(1), ctypes.c_int(1)
    verbosity, kind, bind, scope = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    given = (name, length, verbosity, kind, None, text, text_length, bind, scope)
    given = [each if each in (None, name, text) else ctypes.byref(each) for each in given]
    if library.MPI_T_cvar_get_info(index, *given) or bind.value != 9700:
        continue
    handle, count = ctypes.c_void_p(), ctypes.c_int()
    if library.MPI_T_cvar_handle_alloc(index, None, ctypes.byref(handle), ctypes.byref(count)):
        continue
    buffer = ctypes.create_string_buffer(max(4096, 8 * count.value))
    if library.MPI_T_cvar_read(handle, buffer):
        continue
    if kind.value == 0x4C000405 and count.value == 1:
        found[name.value.decode()] = str(ctypes.c_int.from_buffer(buffer).value)
    elif kind.value == 0x4C000101:
        found[name.value.decode(errors="replace")] = buffer.value.decode(errors="replace")
json.dump(found, sys.stdout)
"""
_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:(\w+):(value|source):(.*)$", re.MULTILINE)


def defaults_of(host: Host, mpi: MpiLibrary) -> Mapping[str, str]:
    """Return variable → default value; empty if the library cannot be queried."""
    unset: dict[str, str | None] = {
        name: None for name in host.environ if name.startswith(variable_beginnings())
    }
    environment = {**unset, **mpi.environment}
    if AbiFamily.OPENMPI in mpi.abi_families:
        command = [f"{dirname(mpi.launcher)}/ompi_info", "--parsable", "--all", "--level", "9"]
        # Not cached, because a site's parameter file may change.
        answer = host.run(command, environment=environment, timeout_s=_TIMEOUT_S, working_directory=HERE)
        return _of_parameters(answer.stdout) if answer.status == 0 else {}
    answer = host.run_cached(
        [host.python, "-I", "-c", _ASK, mpi.library],
        [mpi.library],
        environment=environment,
        timeout_s=_TIMEOUT_S,
    )
    try:
        defaults = json.loads(answer.stdout) if answer.status == 0 else {}
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in defaults.items()}


def _of_parameters(text: str) -> dict[str, str]:
    """Return the parameters that come from the library or a site's file."""
    values, sources = dict[str, str](), dict[str, str]()
    for name, kind, content in _PARAMETER.findall(text):
        (values if kind == "value" else sources)[name] = content
    return {
        f"OMPI_MCA_{name}": value
        for name, value in values.items()
        if sources.get(name, "").startswith(("default", "file"))
    }

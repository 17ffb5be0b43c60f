"""Functions of MPI implementations by name: settings, tuning files, reports, packages."""

import json
import re
from collections.abc import Mapping
from posixpath import dirname

from mpiric.algorithms.library import find_algorithm, version_numbers
from mpiric.host.host import HERE, Host
from mpiric.model.errors import Finding, MismatchError
from mpiric.model.fabric import TransportReport
from mpiric.model.job import Spelling
from mpiric.model.mpi_library import AbiFamily, MpiLibrary, MpiPackage
from mpiric.model.policy import Policy
from mpiric.model.situation import Situation
from mpiric.mpis._implementation import Defaults, Exported, fields_of, implementations, variable_beginnings

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

"""MPI libraries by the name of their implementation: settings, tuning files, reports, packages."""

from collections.abc import Mapping

from mpiric.algorithms.library import find_algorithm, version_numbers
from mpiric.model.errors import MismatchError
from mpiric.model.fabric import TransportReport
from mpiric.model.finding import Finding
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.mpi_package import MpiPackage
from mpiric.model.policy import Policy
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis._implementation import Defaults, Exported, fields_of, implementations

_ALGORITHM = "-algorithm"
_SHOWN = 5


def spell(knob: str, value: str, situation: Situation) -> Spelling | None:
    """The library's setting for ``knob=value``; None when it has none."""
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
    """Files and variables with which the library chooses by itself what the policy chooses.

    ``defaults``: the decision trees built into the library, as MPICH has them; others need none.
    Raises MismatchError for a library that reads no such thing.
    """
    exporters = {name: entry.export for name, entry in implementations().items() if entry.export is not None}
    if policy.implementation not in exporters:
        raise MismatchError(
            f"{policy.implementation} reads no tuning file that mpiric can write",
            hint=f"those that do: {', '.join(sorted(exporters))}",
        )
    return exporters[policy.implementation](policy, defaults)


def export_files() -> tuple[str, ...]:
    """Names of the files that exports consist of, shell patterns."""
    return fields_of(lambda entry: entry.export_files)


def embedded_defaults(implementation: str) -> bytes:
    """The first bytes of decision trees that a library has built in as text, empty when it has none."""
    entry = implementations().get(implementation)
    return entry.embedded_defaults if entry else b""


def foreign_settings(inherited: Mapping[str, str], library: MpiLibrary) -> tuple[Finding, ...]:
    """A finding for each other implementation whose settings are there and which this library ignores."""
    profile = implementations().get(library.implementation)
    obeyed = (profile.prefix, *profile.shared_prefixes) if profile else ()
    findings = []
    for name, other in implementations().items():
        names = sorted(
            variable for variable in inherited if other.prefix and variable.startswith(other.prefix)
        )
        if names and other.prefix not in obeyed:
            findings.append(
                Finding(
                    "settings-of-another-mpi",
                    f"settings of {name} are without effect under {library.implementation}",
                    ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else ""),
                    f"check that {library.label} is the library meant",
                )
            )
    return tuple(findings)


def is_read_by_alone(variable: str, implementation: str) -> bool:
    """Return whether a variable is one of this implementation's own settings that no other library obeys.

    Those of libfabric, UCX, OpenMP and the C library are read under every one.
    """
    readers = {
        name
        for name, entry in implementations().items()
        for beginning in (entry.prefix, *entry.shared_prefixes, *entry.variables)
        if beginning and variable.startswith(beginning)
    }
    return readers == {implementation}


def ask_connections(implementation: str) -> Mapping[str, str]:
    """Variables that make a library print what carries its messages."""
    entry = implementations().get(implementation)
    return entry.ask_connections if entry else {}


def connections(implementation: str, text: str) -> TransportReport:
    """Connections as a library reports them in all that a run printed; empty when it reports none."""
    entry = implementations().get(implementation)
    return entry.connections(text) if entry else TransportReport()


def packages() -> dict[str, MpiPackage]:
    """Registry key → package of the implementations that come from PyPI, in alphabetical order.

    Every one gets a prefix of its own: the wheels own the same names (``bin/mpiexec``, ``lib/libmpi.so.12``,
    ``include/mpi.h``) and overwrite one another in a common environment.
    """
    packages = {name: entry.package for name, entry in implementations().items()}
    return {name: package for name, package in sorted(packages.items()) if package is not None}

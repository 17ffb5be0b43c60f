"""One MPI implementation per file: how it is recognised, what it can do, how the knobs are set.

Finding installed libraries stands behind the names below.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpiric.mpis._connections import ask_connections, connections
    from mpiric.mpis._describe import launcher_text
    from mpiric.mpis._discovery import find_mpis, mpi_of_launcher, mpi_of_library
    from mpiric.mpis._export import embedded_defaults, export
    from mpiric.mpis._foreign import foreign_settings
    from mpiric.mpis._implementation import Exported, implementations, variable_beginnings, with_capabilities
    from mpiric.mpis._packages import packages
    from mpiric.mpis._programs import (
        abi_of_program,
        libraries_needed_by,
        mpi_calls,
        mpi_names,
        mpi_needed_by,
        nailed_to,
        symbols,
    )
    from mpiric.mpis._sonames import family_of_soname, name_under
    from mpiric.mpis._spell import spell

__all__ = [
    "Exported",
    "abi_of_program",
    "ask_connections",
    "connections",
    "embedded_defaults",
    "export",
    "family_of_soname",
    "find_mpis",
    "foreign_settings",
    "implementations",
    "launcher_text",
    "libraries_needed_by",
    "mpi_calls",
    "mpi_names",
    "mpi_needed_by",
    "mpi_of_launcher",
    "mpi_of_library",
    "nailed_to",
    "name_under",
    "packages",
    "spell",
    "symbols",
    "variable_beginnings",
    "with_capabilities",
]

_HOMES = {
    "Exported": "_implementation",
    "abi_of_program": "_programs",
    "ask_connections": "_connections",
    "connections": "_connections",
    "embedded_defaults": "_export",
    "export": "_export",
    "family_of_soname": "_sonames",
    "find_mpis": "_discovery",
    "foreign_settings": "_foreign",
    "implementations": "_implementation",
    "launcher_text": "_describe",
    "libraries_needed_by": "_programs",
    "mpi_calls": "_programs",
    "mpi_names": "_programs",
    "mpi_needed_by": "_programs",
    "mpi_of_launcher": "_discovery",
    "mpi_of_library": "_discovery",
    "nailed_to": "_programs",
    "name_under": "_sonames",
    "packages": "_packages",
    "spell": "_spell",
    "symbols": "_programs",
    "variable_beginnings": "_implementation",
    "with_capabilities": "_implementation",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the registry imports this package itself."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

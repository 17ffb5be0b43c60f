"""One MPI implementation per file: recognise, ABI, transports, how it spells the knobs.

Finding them stands behind the names below.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpiric.mpis._describe import launcher_text
    from mpiric.mpis._discovery import find_mpis, mpi_of_launcher, mpi_of_library
    from mpiric.mpis._exports import Exported, export
    from mpiric.mpis._implementation import family_of_soname, implementations, name_under
    from mpiric.mpis._programs import (
        abi_of_program,
        libraries_needed_by,
        mpi_calls,
        mpi_names,
        mpi_needed_by,
        nailed_to,
        symbols,
    )

__all__ = [
    "Exported",
    "abi_of_program",
    "export",
    "family_of_soname",
    "find_mpis",
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
    "symbols",
]

_HOMES = {
    "Exported": "_exports",
    "export": "_exports",
    "find_mpis": "_discovery",
    "launcher_text": "_describe",
    "mpi_of_launcher": "_discovery",
    "mpi_of_library": "_discovery",
    "family_of_soname": "_implementation",
    "implementations": "_implementation",
    "name_under": "_implementation",
    "abi_of_program": "_programs",
    "libraries_needed_by": "_programs",
    "mpi_calls": "_programs",
    "mpi_names": "_programs",
    "mpi_needed_by": "_programs",
    "nailed_to": "_programs",
    "symbols": "_programs",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the registry imports this package itself."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

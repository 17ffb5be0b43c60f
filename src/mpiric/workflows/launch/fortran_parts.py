"""The Fortran library of a translated program."""

from collections.abc import Collection
from dataclasses import dataclass
from posixpath import basename

from mpiric.host.host import Host
from mpiric.host.installation.native import native_fortran
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import FORTRAN_NAMES, is_module_library

_INSIDE = (
    "MPII_",
    "MPIR_",
    "impi_",
)  # prefixes of internal symbols that a Fortran library imports from its C library


@dataclass(frozen=True)
class FortranParts:
    """Choice of the Fortran library, and the reason if the program cannot run."""

    is_own: bool = False
    missing: str = ""


def fortran_parts(
    program: AbiFamily, names: Collection[str], files: Collection[str], stand_in: str, host: Host
) -> FortranParts:
    """Choose the Fortran library for a program that needs these libraries and currently loads these files.

    MPICH's own Fortran library, with the modules compiled into it, works with a translation library for
    MPICH. Open MPI's library reads the objects behind handles, so that mpiric's library replaces it, with
    the symbols of its modules.
    """
    required = set(names) & set(FORTRAN_NAMES.get(program, ()))
    modules = [name for name in sorted(names) if is_module_library(name)]
    if absent := [name for name in modules if not _found(name, files)]:
        return FortranParts(
            missing=f"{', '.join(absent)} is not found: the modules of its compiler are in it"
        )
    if not required and not modules:
        return FortranParts()
    library_path = native_fortran(program, FORTRAN_NAMES[program][0])
    if program is AbiFamily.OPENMPI:
        return (
            FortranParts(is_own=True)
            if library_path
            else FortranParts(missing="its Fortran library is not built here")
        )
    program_library = _found(sorted(required)[0], files)
    if program_library and _works_above(program_library, stand_in, host):
        return FortranParts()
    if not library_path:
        return FortranParts(missing=f"{sorted(required)[0]} is not found")
    compiled = _compiled_modules(files, host) - host.exported_symbols(library_path)
    if compiled:
        return FortranParts(
            missing=f"{sorted(required)[0]} with mpi_f08 compiled into it ({min(compiled)}) is not found"
        )
    return FortranParts(is_own=True)


def _found(name: str, files: Collection[str]) -> str:
    """Return the path of a library among the files; mapped files have the full version in their name."""
    return next((path for path in files if path.startswith("/") and basename(path).startswith(name)), "")


def _works_above(library: str, stand_in: str, host: Host) -> bool:
    """Return whether the translation library exports all internal symbols that a Fortran library imports."""
    inside = {name for name in host.imported_symbols(library) if name.startswith(_INSIDE)}
    return inside <= host.exported_symbols(stand_in)


def _compiled_modules(files: Collection[str], host: Host) -> set[str]:
    """Return the names of the module mpi_f08 that the program's files import."""
    users = (path for path in files if not basename(path).startswith("libmpi"))
    return {
        name
        for path in users
        for name in host.imported_symbols(path)
        if "f08" in name and (name.startswith("mpi_") or "mpi_f08" in name)
    }

"""Fortran's part of a translated program: whose library it gets, and what is missing."""

from collections.abc import Collection
from dataclasses import dataclass
from posixpath import basename

from mpiric.host.host import Host
from mpiric.host.installation.native import native_fortran
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import FORTRAN_NAMES, is_module_library

_INSIDE = ("MPII_", "MPIR_", "impi_")  # functions and data that a Fortran library takes from its C library


@dataclass(frozen=True)
class FortranParts:
    """Whether mpiric's own Fortran library is needed, and why the program cannot do with what there is."""

    is_own: bool = False
    missing: str = ""


def fortran_parts(
    program: AbiFamily, names: Collection[str], files: Collection[str], stand_in: str, host: Host
) -> FortranParts:
    """Choose for a program that asks for libraries of these names and now loads these files.

    Above a stand-in for MPICH, MPICH's own Fortran library works, with the modules compiled into it. Open
    MPI's reads the objects behind handles: ours takes its place, under what its modules compile to.
    """
    wanted = set(names) & set(FORTRAN_NAMES.get(program, ()))
    modules = [name for name in sorted(names) if is_module_library(name)]
    if absent := [name for name in modules if not _found(name, files)]:
        return FortranParts(
            missing=f"{', '.join(absent)} is not found: the modules of its compiler are in it"
        )
    if not wanted and not modules:
        return FortranParts()
    own = native_fortran(program, FORTRAN_NAMES[program][0])
    if program is AbiFamily.OPENMPI:
        return (
            FortranParts(is_own=True)
            if own
            else FortranParts(missing="its Fortran library is not built here")
        )
    theirs = _found(sorted(wanted)[0], files)
    if theirs and _works_above(theirs, stand_in, host):
        return FortranParts()
    if not own:
        return FortranParts(missing=f"{sorted(wanted)[0]} is not found")
    compiled = _compiled_modules(files, host) - host.exported_symbols(own)
    if compiled:
        return FortranParts(
            missing=f"{sorted(wanted)[0]} with mpi_f08 compiled into it ({min(compiled)}) is not found"
        )
    return FortranParts(is_own=True)


def _found(name: str, files: Collection[str]) -> str:
    """The path of a library among the files; what is mapped has the full version in its name."""
    return next((path for path in files if path.startswith("/") and basename(path).startswith(name)), "")


def _works_above(library: str, stand_in: str, host: Host) -> bool:
    """Whether the stand-in has everything inside of MPICH that a Fortran library of its family takes."""
    inside = {name for name in host.imported_symbols(library) if name.startswith(_INSIDE)}
    return inside <= host.exported_symbols(stand_in)


def _compiled_modules(files: Collection[str], host: Host) -> set[str]:
    """Names of the module mpi_f08 that the program's files take from a library."""
    users = (path for path in files if not basename(path).startswith("libmpi"))
    return {
        name
        for path in users
        for name in host.imported_symbols(path)
        if "f08" in name and (name.startswith("mpi_") or "mpi_f08" in name)
    }

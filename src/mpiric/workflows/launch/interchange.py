"""Preparation of other MPI libraries for a program: under the names it needs, or with translation.

The constants in a library's standard ABI are checked and corrected first: with wrong values a program would
seek to another position, or abort instead of returning an error. The check takes a second or two; its result
is cached by the build id.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import basename, dirname

from mpiric import mpis
from mpiric.host.host import Host
from mpiric.host.installation.native import native_fortran, native_part, native_repairs
from mpiric.host.installation.stand_ins import (
    fortran_in,
    functions,
    linked_directory,
    repair_path,
    stand_in_directory,
    stand_ins,
)
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import (
    FORTRAN_NAMES,
    c_library_of,
    is_module_library,
    is_native,
    name_under,
    own_family,
    untranslated,
    values_of_its_own,
)
from mpiric.workflows.launch.loadable import two_families

# Prefixes of internal symbols that a Fortran library imports from its C library.
_INSIDE = ("MPII_", "MPIR_", "impi_")


def ready_to_serve(
    libraries: Iterable[MpiLibrary],
    names: frozenset[str],
    now: MpiLibrary,
    host: Host,
    calls: frozenset[str] = frozenset(),
    files: Collection[str] = (),
) -> tuple[MpiLibrary, ...]:
    """Prepare the libraries; a directory of links for ``names`` is added to the path of each that has them.

    Libraries of another ABI family get a translation library if one exists; the functions among the
    program's ``calls`` (``mpi_send``) that they do not support are recorded, and the program's own Fortran
    library among its ``files``.

    Without names (for a script) the soname of the current library ``now`` is used, and of its other parts
    as many as exist; programs that a script starts are assumed to have its family. Links are needed if a
    library has another name (Debian's ``libmpich.so.12``), or if only the dynamic linker finds it: the
    program's RUNPATH would have precedence.
    """
    needed = names or {now.soname}
    link_names = names or {now.soname, *now.sonames}
    program = program_family(names) if names else own_family(now)
    return tuple(
        translated(library, program, names, calls, files, host)
        if program and not is_native(program, library)
        else _ready(library, needed, link_names, host)
        for library in _conforming(libraries, program, host)
    )


def _conforming(
    libraries: Iterable[MpiLibrary], program: AbiFamily | None, host: Host
) -> Iterable[MpiLibrary]:
    """Check the standard ABI of the libraries if the program uses it."""
    if program is not AbiFamily.STANDARD:
        return libraries
    return tuple(conforming(library, host) for library in libraries)


def with_stand_ins(libraries: Iterable[MpiLibrary], path: str, host: Host) -> tuple[MpiLibrary, ...]:
    """Add translation libraries to libraries of another ABI family than an executable's, if they serve it."""
    files = (path, *mpis.libraries_needed_by(host, path))
    names, calls = mpis.mpi_names(host, files), mpis.mpi_calls(host, files)
    program = program_family(names)
    return tuple(
        translated(library, program, names, calls, files, host)
        if program and not is_native(program, library)
        else library
        for library in _conforming(libraries, program, host)
    )


def program_family(names: Iterable[str]) -> AbiFamily | None:
    """Return the ABI family of a program that needs these libraries; None if unknown."""
    return next((family for name in sorted(names) if (family := mpis.family_of_soname(name))), None)


def translated(
    library: MpiLibrary,
    program: AbiFamily,
    names: frozenset[str],
    calls: frozenset[str],
    files: Collection[str],
    host: Host,
) -> MpiLibrary:
    """Return a library of another family with a translation library; ``refused`` if that is impossible.

    Without a translation library for the two families it is unchanged.
    """
    if (program, own_family(library)) not in stand_ins():
        return library
    if both := two_families(names):
        return replace(library, refused=f"the program {both}")
    if parts := untranslated(names, program):
        why = "INTEGERs of 64 bits" if any("ilp64" in part for part in parts) else "the C++ bindings of MPI-2"
        return replace(library, refused=f"{', '.join(parts)} is not translated: {why}")
    directory = stand_in_directory(program, library, host.environ)
    if not directory:
        why = "no directory for its stand-in permits programs to load libraries"
        return replace(library, refused=why)
    stand_in = str(PurePosixPath(directory) / c_library_of(program, names))
    fortran = fortran_parts(program, names, files, stand_in, host)
    if fortran.missing:
        return replace(library, refused=fortran.missing)
    # A script may start a Fortran program: Open MPI's own library would read the objects behind handles.
    is_own = fortran.is_own or (not names and program is AbiFamily.OPENMPI)
    fortran_library = fortran_in(Path(directory), program) if is_own else ""
    ready = replace(
        library,
        refused="",  # concerns its standard ABI, which is not used
        stand_in=stand_in,
        fortran=fortran_library,
        library_path=(
            directory,
            *((dirname(fortran_library),) if fortran_library else ()),
            *library.library_path,
        ),
        sonames=tuple(dict.fromkeys((*library.sonames, *names))),
    )
    return replace(ready, lacks=lacking(ready, calls, host))


def lacking(library: MpiLibrary, calls: Iterable[str], host: Host) -> tuple[str, ...]:
    """Return the functions of a program (``mpi_send``) that a library does not support; none if unknown."""
    exported = {name.lower() for name in host.exported_symbols(library.library)}
    answered = exported | functions("own")  # MPICH's conversions of handles are macros
    if library.stand_in:
        answered -= functions("refused")
        # Persistent collectives, which Open MPI 4.1 has as extensions.
        answered |= {
            name.replace("mpix_", "mpi_", 1)
            for name in exported
            if name.startswith("mpix_") and name.endswith("_init")
        }
        narrow = functions("narrow")
        answered |= {name for name in narrow if {name.removesuffix("_c"), f"{name[:-2]}_x"} & exported}
    used = set(calls) & functions("")  # not the constants among the names
    return tuple(sorted(used - answered)) if exported else ()


def _ready(
    library: MpiLibrary, needed: Collection[str], link_names: Collection[str], host: Host
) -> MpiLibrary:
    place = dirname(library.library)
    served = {name: name_under(name, library.sonames) for name in sorted(link_names)}
    if not all(served[name] for name in needed):
        return library
    links = {
        name: f"{place}/{file}"
        for name, file in served.items()
        if file and (name != file or not library.library_path)
    }
    if not links or not (directory := linked_directory(library.label, links, host.environ)):
        return library
    path = (directory, *_of_its_own(library, host), *library.library_path)
    return replace(
        library,
        library_path=tuple(dict.fromkeys(path)),
        sonames=tuple(dict.fromkeys((*library.sonames, *links))),
        renamed=tuple(name for name in links if name not in library.sonames),
    )


def _of_its_own(library: MpiLibrary, host: Host) -> tuple[str, ...]:
    """Return the directories of a library's dependencies; a link to it elsewhere changes $ORIGIN."""
    elf = host.elf(library.library)
    origin = dirname(host.real_path(library.library))
    paths = (path.replace("${ORIGIN}", "$ORIGIN") for path in (elf.search_path if elf else ()))
    directories = (path.replace("$ORIGIN", origin) for path in paths if "$ORIGIN" in path)
    return tuple(host.real_path(path) for path in directories if host.list_dir(path))


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
    if absent := [name for name in modules if not _library_path(name, files)]:
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
    program_library = _library_path(sorted(required)[0], files)
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


def _library_path(name: str, files: Collection[str]) -> str:
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


_LIMIT_S = 300
# The probe is mpiric's own and harmless; these variables permit it to start as root and with one core.
LET_IT_START = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class SilentLibraryError(MpiricError):
    """Programs of the standard ABI do not start with a library."""


def conforming(library: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for programs of the standard ABI: unchanged, corrected, or refused.

    A correction is used if all constants are right with it. A library with which such programs do not start
    keeps only its other ABI, which may serve them through translation.
    """
    try:
        wrong = wrong_constants(host, library)
    except SilentLibraryError as error:
        other_families = tuple(family for family in library.abi_families if family is not AbiFamily.STANDARD)
        return replace(library, abi_families=other_families, standard_library="", refused=error.message)
    if not wrong:
        return library
    checked = replace(library, wrong_constants=wrong)
    for repair in native_repairs():
        if not wrong_constants(host, library, repair):
            return replace(checked, repair=repair_path(repair, host.environ))
    return replace(checked, refused=values_of_its_own(checked))


def wrong_constants(host: Host, library: MpiLibrary, repair: str = "") -> tuple[str, ...]:
    """Return the constants of a library's standard ABI with wrong values; none without that ABI.

    Raises SilentLibraryError if the probe does not start.
    """
    if not library.standard_library:
        return ()
    try:
        program = native_part("probe-abi", AbiFamily.STANDARD)
    except NotFoundError:  # only native parts for other families
        return ()
    alone, launched = [program], [library.launcher, "-n", "1", program, "world"]
    lines = _answers(host, library, alone, repair)
    if library.launcher:
        lines += _answers(host, library, launched, repair)
    if not lines:
        raise SilentLibraryError(f"{library.label}: its libmpi_abi.so.1 starts no program")
    return tuple(line.split()[0] for line in lines if line.endswith(" wrong"))


def _answers(host: Host, library: MpiLibrary, arguments: Sequence[str], repair: str) -> list[str]:
    """Return the output of the probe; without the user's search path if the library does not load with it."""
    searched = dict.fromkeys((host.environ.get("LD_LIBRARY_PATH", ""), ""))
    return next(
        (lines for path in searched if (lines := _answers_with(path, host, library, arguments, repair))), []
    )


def _answers_with(
    path: str, host: Host, library: MpiLibrary, arguments: Sequence[str], repair: str
) -> list[str]:
    paths = (dirname(library.standard_library), *library.library_path, path)
    environment = {
        **LET_IT_START,
        **library.environment,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        "LD_PRELOAD": repair,
        "PATH": ":".join((*library.search_path, host.environ.get("PATH", ""))),
    }
    files = [native_part("probe-abi", AbiFamily.STANDARD), *([repair] if repair else [])]
    elf = host.elf(library.standard_library)
    build = elf.build_id if elf else ""
    answer = host.run_cached(
        arguments,
        [*files, *([] if build else [library.standard_library])],
        environment=environment,
        timeout_s=_LIMIT_S,
        identity=(build, *arguments[1:2]) if build else (),
    )
    return [line for line in answer.stdout.splitlines() if line.startswith("MPI_")]

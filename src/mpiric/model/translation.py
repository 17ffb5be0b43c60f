"""Libraries that can serve programs of an ABI family: natively, under another name, or with translation."""

from collections.abc import Collection, Iterable
from enum import Enum

from mpiric.model.dataclass import dataclass
from mpiric.model.mpi_library import AbiFamily, MpiLibrary

# (ABI family of the program, of the library) that a translation library exists for (src/translate).
PAIRS = (
    (AbiFamily.MPICH, AbiFamily.OPENMPI),
    (AbiFamily.OPENMPI, AbiFamily.MPICH),
    (AbiFamily.STANDARD, AbiFamily.MPICH),
    (AbiFamily.STANDARD, AbiFamily.OPENMPI),
)
SONAMES = {
    AbiFamily.MPICH: "libmpi.so.12",
    AbiFamily.OPENMPI: "libmpi.so.40",
    AbiFamily.STANDARD: "libmpi_abi.so.1",
}
# Names of the C library of a family that programs need or open with dlopen; the last one is without version.
NAMES = {
    AbiFamily.MPICH: ("libmpi.so.12", "libmpich.so.12", "libmpi.so"),
    AbiFamily.OPENMPI: ("libmpi.so.40", "libmpi.so"),
    AbiFamily.STANDARD: ("libmpi_abi.so.1", "libmpi_abi.so"),
}
# Names of the Fortran library of a family. The first is its soname, the others are equivalent libraries.
FORTRAN_NAMES = {
    AbiFamily.MPICH: ("libmpifort.so.12", "libmpichfort.so.12"),
    AbiFamily.OPENMPI: ("libmpi_mpifh.so.40", "libmpi_mpifh-gfortran.so.40"),
}
# Libraries that contain compiler-specific Fortran modules: the program's own file is used.
_MODULES = "libmpi_usempi"

# Internal libraries of Open MPI, which a translation library does not use or conflict with.
_INNER = ("libopen-", "liboshmem")
# Two names of the same library: of the MPICH ABI initiative and of Debian.
_TWINS = (
    ("libmpi.so.12", "libmpich.so.12"),
    ("libmpifort.so.12", "libmpichfort.so.12"),
    ("libmpicxx.so.12", "libmpichcxx.so.12"),
)


class How(str, Enum):
    """Way in which a library serves programs of a family."""

    NATIVE = "native"
    NAME = "name"
    TRANSLATED = "translated"
    REPAIRED = "repaired"
    NO = "no"


@dataclass(frozen=True)
class Serves:
    """Way in which a library serves a family, and the reason if it does not."""

    family: AbiFamily
    how: How
    why: str = ""


def own_family(library: MpiLibrary) -> AbiFamily | None:
    """Return the family of the library's own ABI, the target of translation."""
    return next((family for family in library.abi_families if family is not AbiFamily.STANDARD), None)


def family_above(library: MpiLibrary) -> AbiFamily | None:
    """Return the family that programs see: the translation library's in front of it; None if unknown."""
    file = library.stand_in.rpartition("/")[2]
    above = next((family for family, names in NAMES.items() if file in names), None)
    return above or next(iter(library.abi_families), None)


def can_translate(program: AbiFamily, library: MpiLibrary) -> bool:
    """Return whether a translation library exists for such a program and this library."""
    return (program, own_family(library)) in PAIRS


def is_native(family: AbiFamily, library: MpiLibrary) -> bool:
    """Return whether the library has the family's ABI with correct or corrected constants."""
    is_wrong = family is AbiFamily.STANDARD and library.wrong_constants and not library.repair
    return family in library.abi_families and not is_wrong


def values_of_its_own(library: MpiLibrary) -> str:
    """Return the reason why the library's standard ABI cannot serve a program of the standard."""
    return f"its libmpi_abi has other values than the standard for {', '.join(library.wrong_constants)}"


def name_under(soname: str, sonames: Collection[str]) -> str:
    """Return the name in ``sonames`` of the library that a program needs as ``soname``; "" without one."""
    twins = next((pair for pair in _TWINS if soname in pair), (soname,))
    return next((name for name in (soname, *twins) if name in sonames), "")


def why_unserved(library: MpiLibrary, names: Iterable[str]) -> str:
    """Return why a library cannot natively serve a program that needs libraries of these names; "" if it can.

    Parts of two versions in one process (Fortran of Open MPI 4 with the core of Open MPI 5) cause errors or
    wrong results.
    """
    has = {*library.sonames, library.soname}
    missing = sorted(name for name in names if not name_under(name, has))
    return f"the program needs {', '.join(missing)}, which {library.label} does not have" if missing else ""


def untranslated(names: Iterable[str], program: AbiFamily) -> tuple[str, ...]:
    """Return the MPI libraries of a program without a replacement: C++, Fortran with 64-bit integers."""
    replaceable = (*NAMES[program], *FORTRAN_NAMES.get(program, ()))
    return tuple(
        sorted(
            name
            for name in names
            if name not in replaceable and not is_module_library(name) and not name.startswith(_INNER)
        )
    )


def is_module_library(name: str) -> bool:
    """Return whether it is a library of Open MPI's Fortran modules."""
    return name.startswith(_MODULES)


def c_library_of(program: AbiFamily, names: Collection[str]) -> str:
    """Return the soname of a program's C library; Debian's if its Fortran library is Debian's."""
    soname = next((name for name in NAMES[program] if name in names), "")
    if not soname and program is AbiFamily.MPICH and any(name.startswith("libmpich") for name in names):
        return "libmpich.so.12"
    return soname or SONAMES[program]


def preloads(library: MpiLibrary, names: Collection[str], *, is_bound: bool) -> tuple[str, ...]:
    """Return the libraries to preload so that this one serves a program; ``is_bound``: an RPATH names others.

    In that case the library itself is preloaded after its translation library, because the RPATH would find
    another one.
    """
    if library.stand_in and is_bound:
        return (*library.preloaded, library.library)
    return library.preloaded or (before_rpath(library, names) if is_bound else ())


def before_rpath(library: MpiLibrary, names: Collection[str]) -> tuple[str, ...]:
    """Return the files to preload so that a program's RPATH has no effect; empty if one is missing.

    The dynamic linker identifies a loaded library by the soname in its file, so that a link with another
    name is not sufficient. The C library comes last because the others need it.
    """
    place = library.library.rpartition("/")[0]
    files = {name: f"{place}/{name}" for name in library.sonames if name not in library.renamed}
    files[library.soname] = library.library
    if library.standard_library:
        files[SONAMES[AbiFamily.STANDARD]] = library.standard_library
    c_libraries = {name for sonames in NAMES.values() for name in sonames}
    if not set(names) <= files.keys():
        return ()
    above = [files[name] for name in sorted(names) if name not in c_libraries]
    return (*above, *([files[name] for name in sorted(names) if name in c_libraries] or [library.library]))


def serves(library: MpiLibrary, stand_ins: Iterable[tuple[AbiFamily, AbiFamily]]) -> tuple[Serves, ...]:
    """Return how a library serves each family; ``stand_ins``: installed translation libraries."""
    return tuple(_serves(family, library, tuple(stand_ins)) for family in AbiFamily)


def _serves(
    family: AbiFamily, library: MpiLibrary, stand_ins: tuple[tuple[AbiFamily, AbiFamily], ...]
) -> Serves:
    if is_native(family, library):
        if family is AbiFamily.STANDARD and library.repair:
            return Serves(family, How.REPAIRED, values_of_its_own(library))
        is_named_so = family is AbiFamily.STANDARD or library.soname == SONAMES[family]
        return Serves(family, How.NATIVE if is_named_so else How.NAME)
    if (family, own_family(library)) in stand_ins:
        return Serves(family, How.TRANSLATED)
    if can_translate(family, library) and family not in library.abi_families:
        return Serves(family, How.NO, "the stand-in is not part of this installation")
    if family in library.abi_families:
        return Serves(family, How.NO, values_of_its_own(library))
    return Serves(family, How.NO, f"no stand-in exists for the {family.value} ABI over it")

"""Which library can serve programs of which ABI family: natively, under another name, translated."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from mpiric.model.mpi_library import AbiFamily, MpiLibrary

# Program's family and library's: there is a stand-in for each of these (src/translate).
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
# Names under which a program looks for the C library of its family, the last when it is linked to none.
NAMES = {
    AbiFamily.MPICH: ("libmpi.so.12", "libmpich.so.12", "libmpi.so"),
    AbiFamily.OPENMPI: ("libmpi.so.40", "libmpi.so"),
    AbiFamily.STANDARD: ("libmpi_abi.so.1", "libmpi_abi.so"),
}
# Fortran's library over the C functions of a family, with the names of others that have the same in them.
FORTRAN_NAMES = {
    AbiFamily.MPICH: ("libmpifort.so.12", "libmpichfort.so.12"),
    AbiFamily.OPENMPI: ("libmpi_mpifh.so.40", "libmpi_mpifh-gfortran.so.40"),
}
# What only a compiler's own modules can make, and lies above that library: the program's own file is taken.
_MODULES = "libmpi_usempi"

# Libraries inside of Open MPI: a stand-in over another library has no use for them, and does not meet them.
_INNER = ("libopen-", "liboshmem")
# One library under two names: from the MPICH ABI initiative and from Debian.
_TWINS = (
    ("libmpi.so.12", "libmpich.so.12"),
    ("libmpifort.so.12", "libmpichfort.so.12"),
    ("libmpicxx.so.12", "libmpichcxx.so.12"),
)


class How(str, Enum):
    """How a library comes to serve programs of a family."""

    NATIVE = "native"
    NAME = "name"
    TRANSLATED = "translated"
    REPAIRED = "repaired"
    NO = "no"


@dataclass(frozen=True)
class Serves:
    """How a library serves one family, and why it does not."""

    family: AbiFamily
    how: How
    why: str = ""


def own_family(library: MpiLibrary) -> AbiFamily | None:
    """The family of the library's own names; translation goes to these."""
    return next((family for family in library.abi_families if family is not AbiFamily.STANDARD), None)


def family_above(library: MpiLibrary) -> AbiFamily | None:
    """The family whose names its programs see: that of a stand-in in front of it; None when unknown."""
    file = library.stand_in.rpartition("/")[2]
    above = next((family for family, names in NAMES.items() if file in names), None)
    return above or next(iter(library.abi_families), None)


def can_translate(program: AbiFamily, library: MpiLibrary) -> bool:
    """Whether a stand-in has been written for such a program over this library."""
    return (program, own_family(library)) in PAIRS


def is_native(family: AbiFamily, library: MpiLibrary) -> bool:
    """Whether the library has the family's ABI itself, with the standard's values or such as are repaired."""
    is_wrong = family is AbiFamily.STANDARD and library.wrong_constants and not library.repair
    return family in library.abi_families and not is_wrong


def values_of_its_own(library: MpiLibrary) -> str:
    """Why the library's standard ABI cannot serve a program of the standard."""
    return f"its libmpi_abi has other values than the standard for {', '.join(library.wrong_constants)}"


def name_under(soname: str, sonames: Collection[str]) -> str:
    """Return the name, among these, of the library that a program needs as ``soname``; "" without one."""
    twins = next((pair for pair in _TWINS if soname in pair), (soname,))
    return next((name for name in (soname, *twins) if name in sonames), "")


def why_unserved(library: MpiLibrary, names: Iterable[str]) -> str:
    """Why a library cannot natively serve a program that needs libraries of these names; "" when it can.

    Parts of two versions in one process (Fortran's of Open MPI 4 above the core of Open MPI 5) end in errors
    or wrong results.
    """
    has = {*library.sonames, library.soname}
    missing = sorted(name for name in names if not name_under(name, has))
    return f"the program needs {', '.join(missing)}, which {library.label} does not have" if missing else ""


def untranslated(names: Iterable[str], program: AbiFamily) -> tuple[str, ...]:
    """MPI libraries a program asks for that nothing takes the place of: C++, Fortran with 64-bit integers."""
    known = (*NAMES[program], *FORTRAN_NAMES.get(program, ()))
    return tuple(
        sorted(
            name
            for name in names
            if name not in known and not is_module_library(name) and not name.startswith(_INNER)
        )
    )


def is_module_library(name: str) -> bool:
    """Whether it holds what Open MPI's Fortran modules compile to."""
    return name.startswith(_MODULES)


def c_library_of(program: AbiFamily, names: Collection[str]) -> str:
    """The name under which a program wants its C library; Debian's where its Fortran part is Debian's."""
    asked = next((name for name in NAMES[program] if name in names), "")
    if not asked and program is AbiFamily.MPICH and any(name.startswith("libmpich") for name in names):
        return "libmpich.so.12"
    return asked or SONAMES[program]


def preloads(library: MpiLibrary, names: Collection[str], *, is_bound: bool) -> tuple[str, ...]:
    """What goes before a program's libraries for this one to serve it; ``is_bound`` by an RPATH to others.

    Under a stand-in the library itself comes along then, for what it needs would else be found by the RPATH.
    """
    if library.stand_in and is_bound:
        return (*library.preloaded, library.library)
    return library.preloaded or (before_rpath(library, names) if is_bound else ())


def before_rpath(library: MpiLibrary, names: Collection[str]) -> tuple[str, ...]:
    """Files of a library that lead past a program's RPATH when they are preloaded; none where it lacks one.

    The dynamic linker takes what is loaded under a name for all who need that name: the name in the file, so
    that a link under another does not do. The C library comes last, as what is above it needs it.
    """
    place = library.library.rpartition("/")[0]
    files = {name: f"{place}/{name}" for name in library.sonames if name not in library.renamed}
    files[library.soname] = library.library
    if library.standard_library:
        files[SONAMES[AbiFamily.STANDARD]] = library.standard_library
    c_libraries = {name for known in NAMES.values() for name in known}
    if not set(names) <= files.keys():
        return ()
    above = [files[name] for name in sorted(names) if name not in c_libraries]
    return (*above, *([files[name] for name in sorted(names) if name in c_libraries] or [library.library]))


def serves(library: MpiLibrary, stand_ins: Iterable[tuple[AbiFamily, AbiFamily]]) -> tuple[Serves, ...]:
    """How a library serves each family; ``stand_ins`` are those of this installation."""
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
    return Serves(family, How.NO, f"there is no stand-in for the {family.value} ABI over it")

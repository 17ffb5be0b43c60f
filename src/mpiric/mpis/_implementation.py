"""What every file of this folder says about its MPI implementation, and the registry of them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, cast

import mpiric.mpis
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.registry import modules_of


@dataclass(frozen=True)
class Installation:
    """Where one library was found, for the pure functions of an implementation."""

    prefix: str
    library_dir: str
    version: str
    system: bool  # in a directory the dynamic linker searches by itself
    libfabric_dirs: tuple[str, ...] = ()  # with a libfabric.so.1; "" stands for the system's own
    provider_dirs: tuple[str, ...] = ()  # those of them with their providers in `prov`, as Intel ships them
    configured_prefix: str = ""  # the prefix compiled in, "" when unknown


@dataclass(frozen=True)
class Surroundings:
    """What must be set for a program to run under a library."""

    environment: Mapping[str, str] = field(default_factory=dict)
    library_path: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()


class Implementation(Protocol):
    """One MPI implementation: identity and pure functions; a module of this folder is one."""

    TITLE: str  # as its makers write it
    LIBRARIES: tuple[str, ...]  # file names of the library, shell patterns, the most telling first
    LAUNCHERS: tuple[str, ...]  # names in its bin directory, the most telling first
    SYSTEM_LAUNCHERS: Mapping[str, str]  # commands on PATH that start its programs → dialect
    COMPILERS: Mapping[str, tuple[str, ...]]  # language → names in its bin directory
    INFORMATION: tuple[str, ...]  # a command in its bin directory that tells what is compiled in
    MODULES: str  # regular expression of environment-module names

    def recognise(self, text: str) -> str | None:
        """Version from the text of MPI_Get_library_version, None when it is another implementation."""
        ...

    def recognise_launcher(self, text: str) -> str | None:
        """Version from ``mpiexec --version``, None when the launcher cannot start its programs."""
        ...

    def dialect(self, version: str) -> str:
        """Registry key in launchers/ of the dialect its own launcher speaks."""
        ...

    def transports(self, version_text: str, information: str) -> tuple[str, ...]:
        """Transports compiled in, from its own words."""
        ...

    def configured_prefix(self, information: str) -> str:
        """Prefix compiled in, from its own words; "" when they do not say."""
        ...

    def surroundings(self, installation: Installation) -> Surroundings:
        """What must be set for a program to run under it."""
        ...


_FAMILIES = (
    (r"libmpi_abi\.so\.1", AbiFamily.STANDARD),
    (r"libmpifort_abi\.so\.1", AbiFamily.STANDARD),
    # The MPICH ABI initiative's names, Debian's, and Cray's with the compiler in them.
    (r"libmpi(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpich(cxx|fort)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(f90|fort)?_(cray|gnu|intel|aocc|nvidia|pgi|amd)(_\d+)?\.so\.12", AbiFamily.MPICH),
    (r"libmpi(_cxx|_mpifh|_usempi\w*(-gfortran)?|_java)?\.so\.40", AbiFamily.OPENMPI),
)


@lru_cache(maxsize=65536)  # directories of libraries are long, and looked through for each implementation
def family_of_soname(soname: str) -> AbiFamily | None:
    """ABI family a program belongs to that needs a library of this name; None when it is no MPI."""
    if not soname.startswith("libmpi"):
        return None
    return next((family for pattern, family in _FAMILIES if re.fullmatch(pattern, soname)), None)


# One library under two names: that of the MPICH ABI initiative and Debian's.
_TWINS = (
    ("libmpi.so.12", "libmpich.so.12"),
    ("libmpifort.so.12", "libmpichfort.so.12"),
    ("libmpicxx.so.12", "libmpichcxx.so.12"),
)


def name_under(soname: str, sonames: Collection[str]) -> str:
    """What a library with these names calls the one a program asks for as ``soname``, "" when it has none."""
    twins = next((pair for pair in _TWINS if soname in pair), (soname,))
    return next((name for name in (soname, *twins) if name in sonames), "")


@lru_cache(maxsize=1)
def implementations() -> dict[str, Implementation]:
    """Registry key → implementation. The order matters: derivatives are asked before MPICH itself."""
    found = cast("dict[str, Implementation]", modules_of(mpiric.mpis))
    return dict(sorted(found.items(), key=lambda item: item[0] == "mpich"))

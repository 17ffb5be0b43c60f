"""Installed MPI libraries, and libraries that can be installed from PyPI."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from mpiric.model.capabilities import Capabilities
from mpiric.model.dataclass import dataclass


class AbiFamily(str, Enum):
    """Group of libraries with the same ABI, which can replace each other for an executable."""

    MPICH = "mpich"  # libmpi.so.12 (and Debian's libmpich.so.12)
    OPENMPI = "openmpi"  # libmpi.so.40
    STANDARD = "standard"  # libmpi_abi.so.1


@dataclass(frozen=True)
class MpiLibrary:
    """Installed MPI library: identity, location, and environment for its programs."""

    implementation: str  # name of a module in mpis/: "mpich", "openmpi", "intelmpi", "mvapich"
    version: str
    abi_families: tuple[AbiFamily, ...]
    prefix: str
    library: str  # absolute path of the shared library
    soname: str
    launcher: str  # absolute path of mpiexec, "" without one
    dialect: str  # name of a module in launchers/, the syntax of `launcher`
    found_by: str  # "path", "environment", "python", "mpiric", "module", "conda", "debian", "opt", ...
    transports: tuple[str, ...] = ()
    compilers: Mapping[str, str] = field(default_factory=dict)  # {"c": ".../mpicc", ...}
    # Variables that programs with this library need.
    environment: Mapping[str, str] = field(default_factory=dict)
    library_path: tuple[str, ...] = ()  # directories to prepend to LD_LIBRARY_PATH, for the same purpose
    # Directories to prepend to PATH, so that the launcher finds its daemons.
    search_path: tuple[str, ...] = ()
    # All MPI libraries in its directory; a program may need others (Fortran).
    sonames: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()  # subset that exists only as symbolic links: the files have another soname
    standard_library: str = ""  # absolute path of its libmpi_abi.so.1, "" without the standard ABI
    wrong_constants: tuple[str, ...] = ()  # constants of that library whose values differ from the standard
    repair: str = ""  # absolute path of the library that corrects those constants, "" without
    module: str = ""  # environment module that provides it, "" if unknown
    stand_in: str = ""  # absolute path of the translation library for C calls, "" if none is needed
    fortran: str = ""  # the same for Fortran calls, "" if the program's own library handles them
    # Reason why no translation library supports the program, "" if one does or none is needed.
    refused: str = ""
    # Functions that the program can call and that the translation does not support.
    lacks: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    file_drivers: tuple[str, ...] = ()  # drivers of MPI-IO: "ufs", "nfs", "lustre", ...

    @property
    def preloaded(self) -> tuple[str, ...]:
        """Return the libraries to preload so that this library serves a program."""
        repaired = (self.repair, self.standard_library) if self.repair else ()
        return repaired or tuple(path for path in (self.stand_in, self.fortran) if path)

    @property
    def label(self) -> str:
        """Return name and version, as shown to users and written to recipes."""
        return f"{self.implementation}-{self.version}"

    @property
    def major(self) -> int:
        """Return the first number of the version, 0 without one."""
        head = self.version.split(".")[0]
        return int(head) if head.isdigit() else 0


@dataclass(frozen=True)
class WheelPart:
    """Files to install from one wheel, selected by path prefix in its data scheme (``bin/…``, ``lib/…``)."""

    distribution: str  # "impi-rt"
    version: str
    # Hashes of the wheels, one per processor architecture; empty: pip checks none.
    sha256: tuple[str, ...] = ()
    # Path prefix in the wheel → path prefix in the installation.
    moves: Mapping[str, str] = field(default_factory=lambda: {"": ""})

    @property
    def requirement(self) -> str:
        """Return the requirement for pip's command line and for messages."""
        return f"{self.distribution}=={self.version}"

    @property
    def requirement_line(self) -> str:
        """Return the requirement with the hashes that pip accepts, as a line of a requirements file."""
        return " ".join([self.requirement, *(f"--hash=sha256:{digest}" for digest in self.sha256)])


@dataclass(frozen=True)
class MpiPackage:
    """MPI library that is installed into its own prefix."""

    implementation: str  # name of a module in mpis/
    parts: tuple[WheelPart, ...]
    # Replacements in the scripts in bin/, text → text.
    substitutions: Mapping[str, str] = field(default_factory=dict)
    # Link → target, if the system lacks the library.
    fallbacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Return the version of the first wheel, which is the library's version."""
        return self.parts[0].version

    @property
    def label(self) -> str:
        """Return the name of the prefix and of the library in it."""
        return f"{self.implementation}-{self.version}"

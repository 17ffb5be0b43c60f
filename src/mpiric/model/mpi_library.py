"""MpiLibrary: one installed MPI."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from mpiric.model.capabilities import Capabilities


class AbiFamily(str, Enum):
    """Libraries of one family can stand in for one another under one executable."""

    MPICH = "mpich"  # libmpi.so.12 (and Debian's libmpich.so.12)
    OPENMPI = "openmpi"  # libmpi.so.40
    STANDARD = "standard"  # libmpi_abi.so.1


@dataclass(frozen=True)
class MpiLibrary:
    """One installed MPI: what it is, where it lives and how a program is run under it."""

    implementation: str  # registry key in mpis/: "mpich", "openmpi", "intelmpi", "mvapich"
    version: str
    abi_families: tuple[AbiFamily, ...]
    prefix: str
    library: str  # absolute path of the shared library
    soname: str
    launcher: str  # absolute path of mpiexec, "" when there is none
    dialect: str  # registry key in launchers/ that `launcher` speaks
    found_by: str  # "path", "environment", "python", "mpiric", "module", "conda", "debian", "opt", ...
    transports: tuple[str, ...] = ()
    compilers: Mapping[str, str] = field(default_factory=dict)  # {"c": ".../mpicc", ...}
    environment: Mapping[str, str] = field(default_factory=dict)  # set for a program to run under it
    library_path: tuple[str, ...] = ()  # directories in front of LD_LIBRARY_PATH, for the same
    search_path: tuple[str, ...] = ()  # directories in front of PATH, for the launcher to find its daemons
    sonames: tuple[
        str, ...
    ] = ()  # every MPI library beside it; a program may need more (Fortran) than it has
    renamed: tuple[str, ...] = ()  # of these, names that only links have: the files say another of themselves
    standard_library: str = ""  # absolute path of its libmpi_abi.so.1, "" without the standard ABI
    wrong_constants: tuple[str, ...] = ()  # of that: they do something else than the standard says
    repair: str = ""  # absolute path of what gives those constants their meaning, "" without
    module: str = ""  # the environment module that brings it, "" when none is known
    stand_in: str = ""  # absolute path of what translates a program's calls for it, "" where none is needed
    fortran: str = ""  # the same for its calls in Fortran, "" where the program's own library can do it
    refused: str = ""  # why no stand-in serves the program, "" where one does or none is needed
    lacks: tuple[str, ...] = ()  # functions that the program can call and that it cannot answer, translated
    capabilities: Capabilities = field(default_factory=Capabilities)
    file_drivers: tuple[str, ...] = ()  # of MPI-IO: "ufs", "nfs", "lustre", ...

    @property
    def preloaded(self) -> tuple[str, ...]:
        """What goes before the libraries of a program for this one to serve it."""
        repaired = (self.repair, self.standard_library) if self.repair else ()
        return repaired or tuple(path for path in (self.stand_in, self.fortran) if path)

    @property
    def label(self) -> str:
        """Name and version, as shown to people and written in recipes."""
        return f"{self.implementation}-{self.version}"

    @property
    def major(self) -> int:
        """First number of the version, 0 when it has none."""
        head = self.version.split(".")[0]
        return int(head) if head.isdigit() else 0

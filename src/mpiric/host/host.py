"""Host: interface to the machine. It is passed as an argument, so that a recorded host can replace it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mpiric.model.dataclass import dataclass

HERE = "."  # working directory of mpiric
TIMED_OUT = 124  # exit status of a command that exceeded its time limit


Changes = Mapping[str, str | None] | None  # changes of an environment: variables to set, or to remove (None)


@dataclass(frozen=True)
class Completed:
    """Result of a short command; ``status`` is 127 if the program is missing, or `TIMED_OUT`."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Space:
    """Size of a file system in bytes; ``free_bytes`` is available to ordinary users."""

    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Elf:
    """Facts from the header, dynamic section and symbol versions of an ELF file."""

    soname: str
    needed: tuple[str, ...]
    search_path: tuple[str, ...]  # DT_RUNPATH, or DT_RPATH without it; $ORIGIN is not expanded
    interpreter: str  # dynamic linker, "" for libraries and static executables
    fixed_path: tuple[str, ...] = ()  # DT_RPATH if it is effective: it precedes LD_LIBRARY_PATH
    bits: int = 64
    processor: str = ""  # name that uname prints, "" if unknown
    glibc_needed: tuple[int, ...] = ()  # highest version of glibc symbols that it requires: (2, 17)
    glibc_offered: tuple[int, ...] = ()  # release of glibc, only for libc.so.6
    build_id: str = ""  # unique id of the build, "" if the linker added none


class Host(Protocol):
    """Interface for reads and short commands; no method raises for absent items."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the environment of mpiric."""

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        working_directory: str = "/",
    ) -> Completed:
        """Run a short command without input; ``environment`` is added to the host's, None removes a variable.

        The working directory is ``/``, so that files in mpiric's working directory do not affect probes;
        commands with arguments of the user run in ``HERE``. In both cases empty entries of search paths,
        which mean the working directory, are removed.
        """

    def run_cached(
        self,
        argv: Sequence[str],
        files: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        identity: Sequence[str] = (),
        working_directory: str = "/",
    ) -> Completed:
        """Run a command whose result depends only on ``files``, or return the cached result.

        ``identity`` replaces argv and environment if the result does not depend on them.
        """

    def read_text(self, path: str) -> str | None:
        """Return the content of a text file (undecodable bytes replaced), None if it is unreadable."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; empty if it is unreadable."""

    def is_file(self, path: str) -> bool:
        """Return whether the path is a regular file or a link to one."""

    def is_executable(self, path: str) -> bool:
        """Return whether the path is an executable file."""

    def real_path(self, path: str) -> str:
        """Return the path with all links resolved."""

    def which(self, name: str, *, by_shell: bool = False) -> str | None:
        """Return the absolute path of a command on PATH; links are not resolved.

        For a word of the user's command (``by_shell``) an empty entry of PATH means the working directory,
        as in a shell; for a command of mpiric it is ignored.
        """

    @property
    def python(self) -> str:
        """Return the path of mpiric's Python interpreter, for short helper processes."""

    def space(self, path: str) -> Space | None:
        """Return the size and free space of the file system that contains ``path``, None if unknown."""

    def attribute(self, path: str, name: str) -> bytes | None:
        """Return the value of an extended attribute, None if it is missing or unreadable."""

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """Return the IP addresses of each network interface."""

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Return hwloc's XML of this machine, or of ``source``: XML text or a synthetic description.

        ``libraries`` are additional paths of libhwloc. The result is None without libhwloc or if it rejects
        the source.
        """

    def elf(self, path: str) -> Elf | None:
        """Return the facts of an ELF file, None for any other file."""

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Return the names that a shared object exports; empty if it is unreadable."""

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Return the names that an executable or shared object imports; empty if it is unreadable."""

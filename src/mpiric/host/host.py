"""Host: what the other rooms may ask of the machine. Passed in, so that a recorded one serves as well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

HERE = "."  # the directory that mpiric was started in
TIMED_OUT = 124  # status of a command that was ended because it took too long


Changes = Mapping[str, str | None] | None  # of an environment: variables to set, or to remove (None)


@dataclass(frozen=True)
class Completed:
    """A short command that has ended; ``status`` is 127 when the program is missing, or `TIMED_OUT`."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Space:
    """Room in a file system, in bytes; ``free_bytes`` is what an ordinary user may still write."""

    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Elf:
    """What the header, the dynamic section and the versions of an ELF file say."""

    soname: str
    needed: tuple[str, ...]
    search_path: tuple[str, ...]  # DT_RUNPATH, or DT_RPATH when there is none; $ORIGIN as written
    interpreter: str  # the dynamic linker, "" for libraries and static executables
    fixed_path: tuple[str, ...] = ()  # DT_RPATH where it is in force: it goes before LD_LIBRARY_PATH
    bits: int = 64
    processor: str = ""  # as uname says it, "" when unknown
    glibc_needed: tuple[int, ...] = ()  # the highest version of glibc's symbols that it asks for: (2, 17)
    glibc_offered: tuple[int, ...] = ()  # of libc.so.6: the release of glibc that it is
    build_id: str = ""  # tells one build of the file from every other, "" where the linker gave none


class Host(Protocol):
    """Reads and short commands; none raises for what is merely absent."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment mpiric was started in."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: Changes = None,
        timeout_s: float = 20,
        working_directory: str = "/",
    ) -> Completed:
        """Run a short command without input; ``environment`` is added to the host's, None takes away.

        It starts in ``/``: files of the directory that mpiric was started in are not part of a probe. A
        command with words of the user starts in ``HERE``. Empty entries of search paths, which stand for the
        working directory, are left out in either case.
        """
        ...

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
        """Run a command whose answer changes only with ``files``, or give the answer kept from before.

        ``identity`` takes the place of words and environment where these do not decide the answer.
        """
        ...

    def read_text(self, path: str) -> str | None:
        """Contents of a text file (undecodable bytes replaced), None when it cannot be read."""
        ...

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted; empty when it cannot be read."""
        ...

    def is_file(self, path: str) -> bool:
        """Whether a regular file, or a link to one, is there."""
        ...

    def is_executable(self, path: str) -> bool:
        """Whether it is a file that may be executed."""
        ...

    def real_path(self, path: str) -> str:
        """The path with every link resolved."""
        ...

    def which(self, name: str, *, by_shell: bool = False) -> str | None:
        """Return the absolute path of a command on PATH; links are not resolved.

        For a word of the user's command (``by_shell``) an empty entry of PATH is the working directory, as it
        is for a shell; for a command of mpiric's own it is nothing.
        """
        ...

    @property
    def python(self) -> str:
        """The Python interpreter mpiric runs in, for short helper processes."""
        ...

    def space(self, path: str) -> Space | None:
        """Room in the file system that holds ``path``, None when it cannot be asked."""
        ...

    def attribute(self, path: str, name: str) -> bytes | None:
        """Value of an extended attribute, None when it is not there or cannot be read."""
        ...

    def addresses(self) -> Mapping[str, tuple[str, ...]]:
        """IP addresses of each network interface."""
        ...

    def topology_xml(self, source: str = "", libraries: Sequence[str] = ()) -> str | None:
        """Hwloc's XML of this machine, or of ``source``: XML text or a synthetic description.

        ``libraries`` are further paths of libhwloc to try after the system's. None when there
        is no libhwloc or it rejects the source.
        """
        ...

    def elf(self, path: str) -> Elf | None:
        """Dynamic section of an ELF file, None for anything else."""
        ...

    def exported_symbols(self, path: str) -> frozenset[str]:
        """Names a shared object defines for others to use; empty when it cannot be read."""
        ...

    def imported_symbols(self, path: str) -> frozenset[str]:
        """Names an executable or shared object takes from others; empty when it cannot be read."""
        ...

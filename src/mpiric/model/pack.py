"""Pack: a program with what it needs, in one file that starts it at another site."""

from dataclasses import dataclass
from enum import Enum


class ContentKind(str, Enum):
    """What a packed file is there for."""

    PROGRAM = "program"
    LIBRARY = "library"
    PYTHON = "python"
    GIVEN = "given"  # named by the user
    RUNTIME = "runtime"
    RECIPE = "recipe"


@dataclass(frozen=True)
class Content:
    """One file or link of a pack: where it comes from, and its name inside."""

    name: str  # relative to the root of the image
    source: str  # absolute path on this machine, "" where `data` or `link` says all
    kind: ContentKind
    data: bytes | None = None  # in place of the source's bytes
    link: str = ""  # of a symbolic link: what it leads to
    required: bool = True  # the program cannot start without it


@dataclass(frozen=True)
class LeftOut:
    """A file that the program uses and that stays at the site, with the reason."""

    path: str
    why: str


@dataclass(frozen=True)
class GlibcNeed:
    """A version of glibc's symbols that a packed file asks for, and one of those symbols."""

    version: tuple[int, ...]
    name: str  # of the file in the image
    symbol: str
    required: bool  # of a file without which the program cannot start
    stand_in: str = ""  # soname of a compiler's library: the site's own serves where this one is too new

    @property
    def forbids(self) -> bool:
        """Whether the program cannot start with an older glibc."""
        return self.required and not self.stand_in


@dataclass(frozen=True)
class SettingsNeed:
    """Variables that are set only on nodes that have a certain network interface or device."""

    variables: tuple[str, ...]
    what: str  # "network interface eth1"
    paths: tuple[str, ...]  # shell patterns without spaces, at least one has to match


@dataclass(frozen=True)
class Start:
    """How a packed program is started.

    ``@/`` stands for the root of the image, ``@env/`` for the virtual environment that is made of it.
    """

    command: tuple[str, ...]
    mpi_names: tuple[
        str, ...
    ] = ()  # MPI libraries that it asks for; any of them where it opens one by itself
    settings: tuple[tuple[str, str], ...] = ()  # variables for the ranks, unless they are set
    forced: tuple[tuple[str, str], ...] = ()  # variables for the ranks, whatever they are set to
    needs: tuple[SettingsNeed, ...] = ()  # requirements of single settings
    preload: tuple[str, ...] = ()
    runtimes: tuple[tuple[str, str], ...] = ()  # name of an MPI library, and mpiric's own for it in the image
    python_program: str = ""  # the interpreter in the image
    python_home: str = ""  # directory of the base interpreter's program, of a virtual environment
    python_environment: str = ""  # the virtual environment itself
    line: str = ""  # for a shell: with the options of the launcher that the ranks cannot set


@dataclass(frozen=True)
class Pack:
    """Everything about a pack but its bytes."""

    name: str
    contents: tuple[Content, ...]
    left_out: tuple[LeftOut, ...]
    start: Start
    processor: str
    needs: tuple[GlibcNeed, ...] = ()  # highest version first
    of_compilers: tuple[
        tuple[str, tuple[str, ...]], ...
    ] = ()  # soname, versions of symbols that are asked of it

    @property
    def glibc_needed(self) -> tuple[int, ...]:
        """The oldest release of glibc that the program can start with; () for any."""
        return max((need.version for need in self.needs if need.forbids), default=())

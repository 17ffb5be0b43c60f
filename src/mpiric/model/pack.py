"""Pack: a program and its dependencies in one file, which starts the program at another site."""

from enum import Enum

from mpiric.model.dataclass import dataclass


class ContentKind(str, Enum):
    """Role of a file in a pack."""

    PROGRAM = "program"
    LIBRARY = "library"
    PYTHON = "python"
    GIVEN = "given"  # named by the user
    RUNTIME = "runtime"
    RECIPE = "recipe"


@dataclass(frozen=True)
class Content:
    """File or link of a pack: its origin, and its name in the image."""

    name: str  # relative to the root of the image
    source: str  # absolute path on this machine, "" if `data` or `link` defines the content
    kind: ContentKind
    data: bytes | None = None  # content that replaces the source's bytes
    link: str = ""  # target of a symbolic link
    required: bool = True  # the program cannot start without it


@dataclass(frozen=True)
class LeftOut:
    """File that the program uses and that is not packed, with the reason."""

    path: str
    why: str


@dataclass(frozen=True)
class GlibcNeed:
    """Version of glibc's symbols that a packed file requires, with an example symbol."""

    version: tuple[int, ...]
    name: str  # name of the file in the image
    symbol: str
    required: bool  # the program cannot start without the file
    # Soname of a compiler runtime library: the library of the site replaces it if this one is too new.
    stand_in: str = ""

    @property
    def forbids(self) -> bool:
        """Return whether the program cannot start with an older glibc."""
        return self.required and not self.stand_in


@dataclass(frozen=True)
class SettingsNeed:
    """Variables that are set only on nodes with a specific network interface or device."""

    variables: tuple[str, ...]
    what: str  # "network interface eth1"
    paths: tuple[str, ...]  # shell patterns without spaces; at least one must match


@dataclass(frozen=True)
class Start:
    """Start command and environment of a packed program.

    ``@/`` is the root of the image, ``@env/`` the virtual environment that is created from it.
    """

    command: tuple[str, ...]
    mpi_names: tuple[str, ...] = ()  # MPI libraries that it needs; any of them if it opens one with dlopen
    settings: tuple[tuple[str, str], ...] = ()  # variables for the ranks, unless they are already set
    forced: tuple[tuple[str, str], ...] = ()  # variables for the ranks, which override existing values
    needs: tuple[SettingsNeed, ...] = ()  # conditions of single settings
    preload: tuple[str, ...] = ()
    # Name of an MPI library, and path of mpiric's runtime for it in the image.
    runtimes: tuple[tuple[str, str], ...] = ()
    python_program: str = ""  # interpreter in the image
    python_home: str = ""  # directory of the base interpreter of a virtual environment
    python_environment: str = ""  # the virtual environment
    line: str = ""  # shell command line with the launcher options that the ranks cannot set


@dataclass(frozen=True)
class Pack:
    """Description of a pack, without its bytes."""

    name: str
    contents: tuple[Content, ...]
    left_out: tuple[LeftOut, ...]
    start: Start
    processor: str
    needs: tuple[GlibcNeed, ...] = ()  # highest version first
    # (soname, required symbol versions) of compiler runtime libraries
    of_compilers: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def glibc_needed(self) -> tuple[int, ...]:
        """Return the oldest release of glibc that can start the program; () for any."""
        return max((need.version for need in self.needs if need.forbids), default=())

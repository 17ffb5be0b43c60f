"""Job: the user's command understood."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Meaning(str, Enum):
    """The meaning of a launcher option, whatever the dialect calls it."""

    RANKS = "ranks"  # values: (count,)
    RANKS_PER_NODE = "ranks per node"  # (count,)
    NODES = "nodes"  # (count,)
    THREADS_PER_RANK = "threads per rank"  # (count,)
    HOSTS = "hosts"  # ("n1:2,n2:2",) as written
    HOSTFILE = "host file"  # (path,)
    ENVIRONMENT = "environment"  # (name,) forwarded or (name, value) set
    ENVIRONMENT_LIMIT = "environment limit"  # ("all",), ("none",) or ("A,B",): what of its own ranks get
    WORKING_DIRECTORY = "working directory"  # (path,)
    BINDING = "binding"
    MAPPING = "mapping"
    RANKING = "ranking"
    MEMORY_BINDING = "memory binding"
    MPI_PARAMETER = "MPI parameter"  # (name, value): --mca and its like
    OVERSUBSCRIBE = "oversubscribe"
    PROGRAM_FILE = (
        "program file"  # (path,) of a file that says what to run; () where it is the program's word
    )
    BOOTSTRAP = "bootstrap"  # how daemons reach other nodes
    PROCESS_MANAGER = "process manager"  # srun --mpi=...
    STDIN = "stdin"
    SEPARATOR = "separator"  # "--" before the program
    OTHER = "other"  # known or unknown, kept as it is


@dataclass(frozen=True)
class LaunchOption:
    """One option of the launcher: its tokens exactly as written, and what they mean."""

    tokens: tuple[str, ...]
    meaning: Meaning = Meaning.OTHER
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Segment:
    """One program of the launch; more than one is an MPMD launch (``a : b``)."""

    options: tuple[LaunchOption, ...]
    program: tuple[str, ...]  # argv of the program, container words included

    def first(self, meaning: Meaning) -> LaunchOption | None:
        """The first option with this meaning."""
        return next((option for option in self.options if option.meaning is meaning), None)


@dataclass(frozen=True)
class HostSlots:
    """A host by the name it is called by, and how many ranks it is to take; 0: not said."""

    name: str
    slots: int = 0


@dataclass(frozen=True)
class Container:
    """A container engine between launcher and program (``apptainer exec image app``)."""

    engine: str  # "apptainer", "singularity", "charliecloud", "podman", ...
    words: tuple[str, ...]  # engine, its options and the image, as written
    image: str


@dataclass(frozen=True)
class LauncherTraits:
    """What knobs ask of a launcher, in place of its name."""

    settings: frozenset[str] = frozenset()  # knobs that its own options can be set for
    serves_every_library: bool = False  # it is no MPI library's own


@dataclass(frozen=True)
class Job:
    """The user's command, parsed.

    ``prefix`` + ``launcher_words`` + segments, written one after the other with ``:`` between
    segments, give ``argv`` back exactly.
    """

    argv: tuple[str, ...]
    dialect: str  # registry key in launchers/, "direct" when no launcher is named
    prefix: tuple[str, ...]  # words before the launcher: ("env", "A=1"), ("time",)
    launcher_words: tuple[str, ...]  # ("mpirun",); empty for "direct"
    segments: tuple[Segment, ...]
    working_directory: str
    environment: Mapping[str, str] = field(default_factory=dict)  # the whole one it is started with
    stdin: str = ""  # path of a file with what the user piped in, "" for none
    container: Container | None = None
    launcher: LauncherTraits = field(default_factory=LauncherTraits)
    host_files: Mapping[str, str] = field(default_factory=dict)  # path as written → contents

    @property
    def program(self) -> tuple[str, ...]:
        """Argv of the first segment's program."""
        return self.segments[0].program

    @property
    def is_of_several_programs(self) -> bool:
        """Whether ranks run different programs, or one with different arguments (MPMD)."""
        options = [option for segment in self.segments for option in segment.options]
        in_a_file = any(option.meaning is Meaning.PROGRAM_FILE for option in options)
        return in_a_file or len({segment.program for segment in self.segments}) > 1

    @property
    def ranks(self) -> int | None:
        """How many ranks the command line asks for; None when it does not say."""
        counts = [segment.first(Meaning.RANKS) for segment in self.segments]
        if not counts or any(count is None for count in counts):
            return None
        texts = [count.values[0] for count in counts if count is not None]
        return sum(int(text) for text in texts) if all(text.isdigit() for text in texts) else None

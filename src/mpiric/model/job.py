"""Job: the user's command, parsed."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from mpiric.model.dataclass import dataclass


class Meaning(str, Enum):
    """Meaning of a launcher option, independent of the launcher's spelling."""

    RANKS = "ranks"  # values: (count,)
    RANKS_PER_NODE = "ranks per node"  # (count,)
    NODES = "nodes"  # (count,)
    THREADS_PER_RANK = "threads per rank"  # (count,)
    HOSTS = "hosts"  # ("n1:2,n2:2",) unchanged
    HOSTFILE = "host file"  # (path,)
    ENVIRONMENT = "environment"  # (name,) forwarded or (name, value) set
    # ("all",), ("none",) or ("A,B",): part of its environment that ranks inherit.
    ENVIRONMENT_LIMIT = "environment limit"
    WORKING_DIRECTORY = "working directory"  # (path,)
    BINDING = "binding"
    MAPPING = "mapping"
    RANKING = "ranking"
    MEMORY_BINDING = "memory binding"
    MPI_PARAMETER = "MPI parameter"  # (name, value): --mca and similar options
    OVERSUBSCRIBE = "oversubscribe"
    # (path,) of a file that names the programs; () if the file is an argument of the program
    PROGRAM_FILE = "program file"
    BOOTSTRAP = "bootstrap"  # method of starting daemons on other nodes
    PROCESS_MANAGER = "process manager"  # srun --mpi=...
    STDIN = "stdin"
    LABEL = "label"  # lines of output start with the number of their rank
    LAUNCHER_ONLY = "launcher only"  # messages and checks of the launcher; ranks are the same without it
    SEPARATOR = "separator"  # "--" before the program
    OTHER = "other"  # known or unknown, kept unchanged


@dataclass(frozen=True)
class LaunchOption:
    """Option of the launcher: its tokens as written, and their meaning."""

    tokens: tuple[str, ...]
    meaning: Meaning = Meaning.OTHER
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Segment:
    """Program of the launch with its options; a launch with several segments is MPMD (``a : b``)."""

    options: tuple[LaunchOption, ...]
    program: tuple[str, ...]  # argv of the program, including the container command

    def first(self, meaning: Meaning) -> LaunchOption | None:
        """Return the first option with this meaning."""
        return next((option for option in self.options if option.meaning is meaning), None)


@dataclass(frozen=True)
class HostSlots:
    """Host name and number of its slots; 0 if it is not specified."""

    name: str
    slots: int = 0


@dataclass(frozen=True)
class Container:
    """Container engine between launcher and program (``apptainer exec image app``)."""

    engine: str  # "apptainer", "singularity", "charliecloud", "podman", ...
    argv: tuple[str, ...]  # engine, its options and the image, as written
    image: str


@dataclass(frozen=True)
class LauncherTraits:
    """Properties of a launcher that knobs query instead of its name."""

    settings: frozenset[str] = frozenset()  # knobs that options of the launcher can set
    serves_every_library: bool = False  # it does not belong to an MPI library


@dataclass(frozen=True)
class Job:
    """The user's command, parsed.

    ``prefix`` + ``launcher_words`` + segments, joined with ``:`` between segments, equal ``argv``, except
    that a file that lists programs is replaced by its lines.
    """

    argv: tuple[str, ...]
    dialect: str  # name of a module in launchers/; "direct" without a launcher
    prefix: tuple[str, ...]  # argv before the launcher: ("env", "A=1"), ("time",)
    launcher_words: tuple[str, ...]  # argv of the launcher: ("mpirun",); empty for "direct"
    segments: tuple[Segment, ...]
    working_directory: str
    environment: Mapping[str, str] = field(default_factory=dict)  # complete environment of the launch
    stdin: str = ""  # path of a file with the user's piped input, "" without
    container: Container | None = None
    launcher: LauncherTraits = field(default_factory=LauncherTraits)
    binding_wrapper: str = ""  # behind the launcher, sets the CPUs of each rank: "taskset -c 1"
    template: tuple[str, ...] = ()  # argv with {NAME} for parameters, as written; () without parameters
    parameters: Mapping[str, str] = field(default_factory=dict)  # {NAME} → value in this job
    # Files to write into the working directory: relative path → text with {NAME} for parameters.
    file_templates: Mapping[str, str] = field(default_factory=dict)
    host_files: Mapping[str, str] = field(default_factory=dict)  # path as written → contents

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command as the user wrote it, with {NAME} for parameters."""
        return self.template or self.argv

    @property
    def program(self) -> tuple[str, ...]:
        """Return the argv of the first segment's program; or else the file that lists the programs."""
        first = self.segments[0]
        file = first.first(Meaning.PROGRAM_FILE)
        return first.program or (file.values if file is not None else ())

    @property
    def is_of_several_programs(self) -> bool:
        """Return whether ranks run different programs or different arguments (MPMD)."""
        options = [option for segment in self.segments for option in segment.options]
        in_a_file = any(option.meaning is Meaning.PROGRAM_FILE for option in options)
        return in_a_file or len({segment.program for segment in self.segments}) > 1

    @property
    def ranks(self) -> int | None:
        """Return the number of ranks on the command line; None if it is not specified."""
        counts = [segment.first(Meaning.RANKS) for segment in self.segments]
        if not counts or any(count is None for count in counts):
            return None
        texts = [count.values[0] for count in counts if count is not None]
        return sum(int(text) for text in texts) if all(text.isdigit() for text in texts) else None

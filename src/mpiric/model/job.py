"""Job: the user's command, parsed. Launch: a job rendered with the spelling of its knob values."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, IntEnum

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import sh_command, sh_with_variables


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
    def after_launcher(self) -> tuple[str, ...]:
        """Return the arguments behind the launcher, in the order of the command line."""
        arguments: list[str] = []
        for number, segment in enumerate(self.segments):
            arguments += [":"] if number else []
            arguments += [token for option in segment.options for token in option.tokens]
            arguments += segment.program
        return tuple(arguments)

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


class Weight(IntEnum):
    """Degree of interference with a program; of two fixes the lighter one is recommended."""

    LIGHT = 0  # environment variables or options of the launcher
    PRELOAD = 1  # a library that is loaded in front of the program's
    LIBRARY = 2  # another MPI library of the same ABI
    SHIM = 3  # another MPI library through a shim that translates its ABI


@dataclass(frozen=True)
class Spelling:
    """Settings for one knob value; the job's launcher merges the spellings of a configuration into a Launch.

    The content comes from registries of this package, for knob values that passed validation; it is never
    copied from a recipe. ``environment`` and ``unset`` override options of the user's command line for the
    same variable (``-genv NAME``, ``-x NAME``, and ``--mca NAME`` for ``OMPI_MCA_NAME``): the launcher
    removes these options.
    """

    environment: Mapping[str, str] = field(default_factory=dict)  # variables of the ranks
    unset: tuple[str, ...] = ()  # variables to remove from the ranks' environment
    tunables: Mapping[str, str] = field(default_factory=dict)  # glibc tunables; see `merge_spellings`
    options: tuple[tuple[str, ...], ...] = ()  # launcher options, each with its values
    preload: tuple[str, ...] = ()  # absolute paths to prepend to the ranks' LD_PRELOAD
    library_path: tuple[str, ...] = ()  # directories to prepend to the ranks' LD_LIBRARY_PATH
    # Directories that containers must mount read-only; the fields above refer to them.
    bound: tuple[str, ...] = ()
    directories: Mapping[str, str] = field(default_factory=dict)  # variable → directory that ranks write to
    launcher_words: tuple[str, ...] = ()  # argv of another launcher; set together with `dialect`
    dialect: str = ""
    crowded: bool = False  # more ranks than CPUs: another launcher may need an option for this
    ranks: int | None = None  # changed number of ranks
    # Variables for mpiexec, not for ranks.
    launcher_environment: Mapping[str, str] = field(default_factory=dict)
    in_front: tuple[str, ...] = ()  # command that starts the launcher
    prepare: tuple[tuple[str, ...], ...] = ()  # commands to run in the working directory before the launch
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → text, files that ranks read
    exchanges_mpi: Weight | None = None  # LIBRARY or SHIM if the MPI library is replaced
    note: str = ""  # information for the user: cost, risk, requirements

    @property
    def weight(self) -> Weight:
        """Return the degree of interference with the program."""
        return self.exchanges_mpi or (Weight.PRELOAD if self.preload else Weight.LIGHT)


LEFT_OUT = "(left out)"  # value of an option of the user that the new launcher does not need


@dataclass(frozen=True)
class Setting:
    """Difference from the user's command: the knob that caused it and the setting that it overrides."""

    knob: str
    name: str  # variable or option in the library's spelling
    value: str
    where: str  # "environment" or "command line"
    overrides: str = ""  # previous setting and its source; "" without one


@dataclass(frozen=True)
class Launch:
    """Complete description of a launch: argv, environment changes and working directory.

    The commands of ``prepare`` must be run and ``files`` must be written before the launch.
    """

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str] = field(default_factory=dict)  # only additions to the user's environment
    unset: tuple[str, ...] = ()
    stdin: str = ""
    settings: tuple[Setting, ...] = ()
    prepare: tuple[tuple[str, ...], ...] = ()  # commands to run in the working directory before the launch
    # Path, absolute or in the working directory → required content.
    files: Mapping[str, str] = field(default_factory=dict)

    def shell_line(self) -> str:
        """Return a line for a POSIX shell that does the same in the working directory."""
        line = sh_with_variables(sorted(self.environment.items()), sh_command(self.argv))
        if self.unset:
            line = f"env {sh_command(word for name in self.unset for word in ('-u', name))} {line}"
        return " && ".join([*map(sh_command, self.prepare), line])

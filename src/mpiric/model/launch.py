"""Spelling: settings for one knob value. Launch: a job rendered with a configuration, as printable data."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import sh_command, sh_with_variables


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

"""Launch: a job rendered with a configuration. Pure data, suitable for printing."""

from collections.abc import Mapping
from dataclasses import field

from mpiric.model.dataclass import dataclass
from mpiric.model.quoting import sh_command, sh_with_variables


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
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → required content

    def shell_line(self) -> str:
        """Return a line for a POSIX shell that does the same in the working directory."""
        line = sh_with_variables(sorted(self.environment.items()), sh_command(self.argv))
        if self.unset:
            line = f"env {sh_command(word for name in self.unset for word in ('-u', name))} {line}"
        return " && ".join([*map(sh_command, self.prepare), line])

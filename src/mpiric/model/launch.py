"""Launch: Job + Configuration rendered. Pure data, printable, copy-pasteable."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpiric.model.quoting import sh_command, sh_with_variables


@dataclass(frozen=True)
class Setting:
    """One thing that differs from the user's own command, where it came from and what it overrides."""

    knob: str
    name: str  # variable or option as the library spells it
    value: str
    where: str  # "environment" or "command line"
    overrides: str = ""  # what was in force there before, with its place; "" when nothing


@dataclass(frozen=True)
class Launch:
    """argv + environment changes + working directory: all that is needed to start it, without mpiric.

    What ``prepare`` and ``files`` name must be done before.
    """

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str] = field(default_factory=dict)  # only what is set on top of the user's
    unset: tuple[str, ...] = ()
    stdin: str = ""
    settings: tuple[Setting, ...] = ()
    prepare: tuple[tuple[str, ...], ...] = ()  # commands to run in the working directory before
    files: Mapping[str, str] = field(default_factory=dict)  # absolute path → text that must be there

    def shell_line(self) -> str:
        """One line for a POSIX shell that does exactly this in the working directory."""
        line = sh_with_variables(sorted(self.environment.items()), sh_command(self.argv))
        if self.unset:
            line = f"env {sh_command(word for name in self.unset for word in ('-u', name))} {line}"
        return " && ".join([*map(sh_command, self.prepare), line])

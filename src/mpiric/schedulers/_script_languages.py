"""Languages of job scripts, selected by the first line: setting variables and running commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpiric.model.errors import MpiricError
from mpiric.model.quoting import csh_word, fish_word, sh_command, sh_word, variable_name


@dataclass(frozen=True)
class Language:
    """All of them begin comments with ``#``, or Slurm's directives would not be theirs to skip."""

    names: tuple[str, ...]
    export: Callable[[str, str], str]
    unset: Callable[[str], str]
    launch: Callable[[Sequence[str]], str]
    begin: tuple[str, ...] = ()
    takes_shell_lines: bool = True


_POSIX = Language(
    ("sh", "bash", "dash", "ksh", "zsh", "ash"),
    lambda name, value: f"export {variable_name(name)}={sh_word(value)}",
    lambda name: f"unset {variable_name(name)}",
    sh_command,
)
_CSH = Language(
    ("csh", "tcsh"),
    lambda name, value: f"setenv {variable_name(name)} {csh_word(value)}",
    lambda name: f"unsetenv {variable_name(name)}",
    lambda argv: " ".join(map(csh_word, argv)),
)
_FISH = Language(
    ("fish",),
    lambda name, value: f"set -gx {variable_name(name)} {fish_word(value)}",
    lambda name: f"set -e {variable_name(name)}",
    lambda argv: " ".join(map(fish_word, argv)),
)
_PYTHON = Language(
    ("python",),
    lambda name, value: f"os.environ[{variable_name(name)!r}] = {value!r}",
    lambda name: f"os.environ.pop({variable_name(name)!r}, None)",
    lambda argv: f"sys.exit(subprocess.call({list(argv)!r}))",
    begin=("import os, subprocess, sys",),
    takes_shell_lines=False,
)
LANGUAGES = (_POSIX, _CSH, _FISH, _PYTHON)


def language_of(shebang: str) -> Language:
    """Return the language of a first line such as ``#!/usr/bin/env -S bash -l``. Raises MpiricError."""
    argv = shebang.removeprefix("#!").split()
    if not shebang.startswith("#!") or not argv or not argv[0].startswith("/"):
        raise MpiricError(
            f"no script begins with {shebang!r}", hint="but with a line such as '#!/bin/bash -l'"
        )
    if argv[0].endswith("/env"):
        argv = [word for word in argv[1:] if not word.startswith("-") and "=" not in word]
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    for language in LANGUAGES:
        if name in language.names or name.rstrip("0123456789.") in language.names:
            return language
    names = ", ".join(name for language in LANGUAGES for name in language.names)
    raise MpiricError(f"mpiric cannot write {name or shebang!r} scripts", hint=f"known are: {names}")

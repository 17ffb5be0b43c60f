"""Log records of the commands that mpiric starts; arguments that look like secrets are masked."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch
from mpiric.model.quoting import sh_command

MASK = "***"
SHOW_VARIABLE = "MPIRIC_SHOW_SECRETS"
_NAME = (
    r"[A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|secret|token|credentials?"
    r"|(?:api|access|secret|private|auth|encryption)[-_.]?key)"
)
_OPTION = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_VARIABLE = re.compile(_NAME, re.IGNORECASE)
_ASSIGNMENT = re.compile(rf"(-{{0,2}}{_NAME}[=:]).+", re.IGNORECASE | re.DOTALL)
_WITHIN = re.compile(rf"(?<![A-Za-z0-9_.-])((?:{_NAME})=|--?(?:{_NAME})[= ]\s*)[^\s,;&'\"]+", re.IGNORECASE)
_HEADER = re.compile(r"\b((?:bearer|basic)\s+)\S+", re.IGNORECASE)
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*://[^/\s:@]*:)[^/\s@]+(?=@)", re.IGNORECASE)
_SETS_VARIABLE = ("-env", "-genv", "--env", "--genv")  # NAME VALUE, options of Hydra and Intel MPI


def hide(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a command with ``***`` for values that look like secrets.

    Examples: ``--password=x``, ``--db-password x``, ``API_TOKEN=x``, also in lists
    (``--export=ALL,API_TOKEN=x``) and in shell commands, ``Authorization: Bearer x``, and the password of
    ``scheme://user:password@host``.
    """
    hidden = []
    for at, word in enumerate(argv):
        before, before_that = (argv[at - 1] if at else "", argv[at - 2] if at > 1 else "")
        follows = bool(_OPTION.fullmatch(before)) and not word.startswith("-")
        if follows or (before_that in _SETS_VARIABLE and _VARIABLE.fullmatch(before)):
            hidden.append(MASK)
        elif match := _ASSIGNMENT.fullmatch(word):
            hidden.append(f"{match[1]}{MASK}")
        else:
            word = _WITHIN.sub(rf"\1{MASK}", word)
            hidden.append(_ADDRESS.sub(rf"\1{MASK}", _HEADER.sub(rf"\1{MASK}", word)))
    return tuple(hidden)


def masked(argv: Sequence[str]) -> tuple[str, ...]:
    """Mask the arguments with `hide` unless MPIRIC_SHOW_SECRETS is set."""
    return tuple(argv) if os.environ.get(SHOW_VARIABLE, "0") not in ("", "0") else hide(argv)


def masked_launch(launch: Launch) -> Launch:
    """Return a launch with a masked command for reports."""
    return replace(launch, argv=masked(launch.argv))


LOG = logging.getLogger("mpiric.host")


def log_start(
    argv: Sequence[str],
    directory: str | os.PathLike[str] = "",
    environment: Mapping[str, str | None] | None = None,
) -> None:
    """Log a command before it starts; ``environment`` is what it gets on top of the environment of mpiric."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    where = f" (in {os.fspath(directory)})" if directory else ""
    LOG.info("start: %s%s", shown_command(argv), where)
    if environment:
        set_variables = [f"{name}={value}" for name, value in environment.items() if value is not None]
        unset = [f"-u {name}" for name, value in environment.items() if value is None]
        LOG.debug("  environment: %s", " ".join([*unset, *masked(set_variables)]))


def log_end(argv: Sequence[str], status: object, elapsed_s: float) -> None:
    """Log the end of a command; ``status`` is its exit status or what became of it."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("  end: %s after %.3f s: %s", status, elapsed_s, shown_command(argv[:1]))


def log_cached(argv: Sequence[str]) -> None:
    """Log that the answer of a command was taken from the cache."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("cached answer: %s", shown_command(argv))


def shown_command(argv: Sequence[str | os.PathLike[str]]) -> str:
    """Return the masked command line; only the first line of a script that is one of its parts."""
    parts = [word.partition("\n") for word in masked([os.fspath(word) for word in argv])]
    try:
        return sh_command(f"{first} …" if newline else first for first, newline, _ in parts)
    except MpiricError:  # a word that no shell can express
        return repr(parts)

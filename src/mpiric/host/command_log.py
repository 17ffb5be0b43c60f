"""Log records of the commands that mpiric starts; secrets are masked."""

import logging
import os
from collections.abc import Mapping, Sequence

from mpiric.host.secrets import masked
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_command

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

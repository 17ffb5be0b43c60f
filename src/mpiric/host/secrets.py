"""Masking of arguments that look like secrets, for files and reports of mpiric."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from mpiric.model.launch import Launch

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

"""Data files shipped inside the package, and TOML in general."""

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from mpiric.model.errors import NotFoundError

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def own_command(python: str) -> tuple[str, str]:
    """The words that start mpiric in a working directory of others, whose modules must not be imported.

    Options of Python (``-I``, ``-P``) would take the directories of PYTHONPATH or need Python 3.11.
    """
    return python, os.path.join(_PACKAGE, "__main__.py")


def packaged_directory(name: str) -> str:
    """Absolute path of a directory of the package, ``build/dispatch`` for example."""
    path = os.path.join(_PACKAGE, name)
    if not os.path.isdir(path):
        raise NotFoundError(
            f"mpiric's own files '{name}' are not installed", hint="install mpiric again: it is incomplete"
        )
    return path


def packaged_names(directory: str) -> tuple[str, ...]:
    """Stems of the TOML files in a directory of the package, in alphabetical order."""
    names = sorted(os.listdir(packaged_directory(directory)))
    return tuple(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@lru_cache
def packaged_table(name: str) -> Mapping[str, Any]:
    """Contents of a TOML file of the package, named without its extension: ``build/data/cpu/x86_64``."""
    directory, file = os.path.split(name)
    with open(os.path.join(packaged_directory(directory), f"{file}.toml"), encoding="utf-8") as stream:
        return parse_toml(stream.read())


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML document. Raises ValueError when it is malformed."""
    # Imported when needed: most compilations read no table.
    try:
        parsed: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(
            text
        )
    except (RecursionError, OverflowError):
        raise ValueError("nested too deeply, or a number is too large") from None
    return parsed

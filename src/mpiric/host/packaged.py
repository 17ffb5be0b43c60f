"""Data files and modules of the package, and a TOML parser."""

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mpiric.model.errors import Finding, NotFoundError

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def own_command(python: str) -> tuple[str, str]:
    """Return the argv that starts mpiric in a directory of other users without importing their modules.

    Python's options would ignore PYTHONPATH (``-I``) or need Python 3.11 (``-P``).
    """
    return python, os.path.join(_PACKAGE, "__main__.py")


def packaged_directory(name: str) -> str:
    """Return the absolute path of a directory of the package, for example ``build/dispatch``."""
    path = os.path.join(_PACKAGE, name)
    if not os.path.isdir(path):
        raise NotFoundError(
            f"mpiric's own files '{name}' are not installed", hint="install mpiric again: it is incomplete"
        )
    return path


def packaged_names(directory: str) -> tuple[str, ...]:
    """Return the stems of the TOML files in a directory of the package, in alphabetical order."""
    names = sorted(os.listdir(packaged_directory(directory)))
    return tuple(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@lru_cache
def packaged_table(name: str) -> Mapping[str, Any]:
    """Return the content of a TOML file of the package; the name is like ``build/data/cpu/x86_64``."""
    directory, file = os.path.split(name)
    with open(os.path.join(packaged_directory(directory), f"{file}.toml"), encoding="utf-8") as stream:
        return parse_toml(stream.read())


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError if it is malformed."""
    # Imported on demand: most compilations read no table.
    try:
        parsed: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(
            text
        )
    except (RecursionError, OverflowError):
        raise ValueError("nested too deeply, or a number is too large") from None
    return parsed


def finding_from(table: str, key: str, **facts: object) -> Finding:
    """Return a finding whose texts are templates in a TOML file of the package, filled with ``facts``."""
    texts = packaged_table(table)[key]
    return Finding(key, *(texts[part].format(**facts) for part in ("says", "evidence", "fix")))


def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """Return the public modules of a package by file stem, in alphabetical order.

    Stems with a leading underscore are excluded.
    """
    names = sorted(info.name for info in iter_modules(package.__path__) if not info.name.startswith("_"))
    return {name: import_module(f"{package.__name__}.{name}") for name in names}

"""Registries that list a folder: each file is an entry with the name of its stem."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """Return the public modules of a package by file stem, in alphabetical order.

    Stems with a leading underscore are excluded.
    """
    names = sorted(info.name for info in iter_modules(package.__path__) if not info.name.startswith("_"))
    return {name: import_module(f"{package.__name__}.{name}") for name in names}

"""Registries list themselves: every file of a folder is an entry, named by its stem."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules_of(package: ModuleType) -> dict[str, ModuleType]:
    """File stem → module for every public module of a package, in alphabetical order.

    A stem with a leading underscore is no entry.
    """
    names = sorted(info.name for info in iter_modules(package.__path__) if not info.name.startswith("_"))
    return {name: import_module(f"{package.__name__}.{name}") for name in names}

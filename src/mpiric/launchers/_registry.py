"""Registry of the dialects: one for each public module of this package."""

from functools import cache
from importlib import import_module

from mpiric.launchers._dialect import Dialect
from mpiric.model.registry import modules_of


@cache
def dialects() -> dict[str, Dialect]:
    """Return the dialects by name, in alphabetical order."""
    modules = modules_of(import_module("mpiric.launchers"))
    return {name: module.DIALECT for name, module in modules.items() if hasattr(module, "DIALECT")}

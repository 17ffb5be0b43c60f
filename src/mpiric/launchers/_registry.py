"""The dialects there are: one for every file of this folder."""

from functools import cache
from importlib import import_module

from mpiric.launchers._dialect import Dialect
from mpiric.model.registry import modules_of


@cache
def dialects() -> dict[str, Dialect]:
    """Name → dialect, in alphabetical order."""
    modules = modules_of(import_module("mpiric.launchers"))
    return {name: module.DIALECT for name, module in modules.items() if hasattr(module, "DIALECT")}

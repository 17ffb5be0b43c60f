"""Rank orders in the syntax of launchers: one form per module, ``emit(order)``."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from mpiric.model.rank_order import RankOrder, RankOrderEmission
from mpiric.model.registry import modules_of


@cache
def rank_order_forms() -> dict[str, Callable[[RankOrder], RankOrderEmission]]:
    """Map the name of each form on the command line to the function that writes it."""
    modules = modules_of(import_module(__name__))
    return {name.replace("_", "-"): module.emit for name, module in modules.items()}

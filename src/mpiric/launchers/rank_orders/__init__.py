"""Rank orders as launchers take them: one form for every file of this folder, ``emit(order)``."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from mpiric.model.rank_order import RankOrder, RankOrderEmission
from mpiric.model.registry import modules_of


@cache
def rank_order_forms() -> dict[str, Callable[[RankOrder], RankOrderEmission]]:
    """Name on the command line → the function that writes the form."""
    modules = modules_of(import_module(__name__))
    return {name.replace("_", "-"): module.emit for name, module in modules.items()}

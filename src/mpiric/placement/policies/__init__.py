"""Policies: every file is one, and lists itself."""

import sys
from functools import cache

from mpiric.model.errors import MpiricError
from mpiric.model.registry import modules_of
from mpiric.placement.policies._policy import PlacementPolicy, Wanted

__all__ = ["PlacementPolicy", "Wanted", "policies", "policy_named"]


@cache
def policies() -> dict[str, PlacementPolicy]:
    """Name → policy, in alphabetical order; ``per_x.py`` is called ``per-x``."""
    modules = modules_of(sys.modules[__name__])
    return {name.replace("_", "-"): module.POLICY for name, module in modules.items()}


def policy_named(name: str) -> PlacementPolicy:
    """The policy of that name. Raises MpiricError for a name that none has."""
    if name not in policies():
        raise MpiricError(f"there is no placement policy {name!r}", hint=f"one of {', '.join(policies())}")
    return policies()[name]

"""Placement policies, one per module; each module registers itself by its name."""

import sys
from functools import cache

from mpiric.model.errors import MpiricError
from mpiric.model.registry import modules_of
from mpiric.placement.policies._policy import PlacementDemand, PlacementPolicy

__all__ = ["PlacementDemand", "PlacementPolicy", "policies", "policy_named"]


@cache
def policies() -> dict[str, PlacementPolicy]:
    """Return the policies by name, in alphabetical order; the policy of ``per_x.py`` is ``per-x``."""
    modules = modules_of(sys.modules[__name__])
    return {name.replace("_", "-"): module.POLICY for name, module in modules.items()}


def policy_named(name: str) -> PlacementPolicy:
    """Return the policy with this name. Raises MpiricError if there is none."""
    if name not in policies():
        raise MpiricError(f"unknown placement policy {name!r}", hint=f"use one of {', '.join(policies())}")
    return policies()[name]

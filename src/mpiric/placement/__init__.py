"""Topology + job → which rank and thread runs where."""

from mpiric.placement.planning import plan
from mpiric.placement.policies import policies

__all__ = ["plan", "policies"]

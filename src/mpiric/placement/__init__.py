"""Topology and job → placement of ranks and threads."""

from mpiric.placement.planning import plan
from mpiric.placement.policies import policies

__all__ = ["plan", "policies"]

"""Topology and job → placement of ranks and threads."""

from mpiric.placement.planning import plan
from mpiric.placement.policies import policies

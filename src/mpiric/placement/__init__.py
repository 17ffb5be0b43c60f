"""Topology + job → which rank and thread runs where; and what each launcher has to be told."""

from mpiric.placement.emission import emit, emit_all, launchers
from mpiric.placement.planning import plan
from mpiric.placement.policies import policies

__all__ = ["emit", "emit_all", "launchers", "plan", "policies"]

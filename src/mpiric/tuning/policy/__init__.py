"""Collective policies: read, checked, merged, condensed to what the runtime obeys."""

from mpiric.tuning.policy.condense import condense, without_own
from mpiric.tuning.policy.flat import parse_flat, read_flat, render_flat
from mpiric.tuning.policy.learned import parse_learned, read_learned, render_learned, write_learned
from mpiric.tuning.policy.merge import first_decided, merge

__all__ = [
    "condense",
    "first_decided",
    "merge",
    "parse_flat",
    "parse_learned",
    "read_flat",
    "read_learned",
    "render_flat",
    "render_learned",
    "without_own",
    "write_learned",
]

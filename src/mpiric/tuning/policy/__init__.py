"""Algorithm policies: read, checked, merged, and condensed to the lines that the runtime applies."""

from mpiric.tuning.policy.flat import parse_flat, render_flat
from mpiric.tuning.policy.learned import parse_learned, read_learned, render_learned, write_learned
from mpiric.tuning.policy.merge import condense, first_decided, library_choices, merge

__all__ = [
    "condense",
    "first_decided",
    "library_choices",
    "merge",
    "parse_flat",
    "parse_learned",
    "read_learned",
    "render_flat",
    "render_learned",
    "write_learned",
]

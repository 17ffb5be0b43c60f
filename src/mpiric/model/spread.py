"""Spread files: `out/mpiric-spread/03/restart.17` instead of `out/restart.17`.

The runtime creates the subdirectories (`src/runtime/spread`) and a manifest in their parent directory.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mpiric.model.file_rules import is_plain_pattern

TOP = "mpiric-spread"
MANIFEST = "manifest"
MANIFEST_BEGINS = "mpiric spread "
_MOST_SUBDIRECTORIES = 4096  # equal to `most_subdirectories` of the runtime
_SUBDIRECTORY = re.compile(r"\d{2,4}")


@dataclass(frozen=True)
class SpreadRule:
    """Number of subdirectories for files whose names match a pattern, as in fnmatch(3)."""

    pattern: str
    subdirectories: int


def parse_spread(text: str) -> tuple[SpreadRule, ...]:
    """Parse rules: `restart.*:16;dump.*:4`. Raises ValueError."""
    rules = []
    for part in text.split(";"):
        pattern, _, count = part.rpartition(":")
        if not is_plain_pattern(pattern) or not re.fullmatch(r"[1-9]\d{0,3}", count):
            raise ValueError(f"expected PATTERN:NUMBER with a number of subdirectories, not {part!r}")
        if int(count) > _MOST_SUBDIRECTORIES:
            raise ValueError(f"more than {_MOST_SUBDIRECTORIES} subdirectories: {part!r}")
        rules.append(SpreadRule(pattern, int(count)))
    return tuple(rules)


def write_spread(rules: tuple[SpreadRule, ...]) -> str:
    """Return the text that `parse_spread` reads."""
    return ";".join(f"{rule.pattern}:{rule.subdirectories}" for rule in rules)


def own_place(path: str) -> str | None:
    """Return the original path: `out/mpiric-spread/03/restart.17` → `out/restart.17`; else None."""
    parts = PurePosixPath(path).parts
    if len(parts) < 3 or parts[-3] != TOP or not _SUBDIRECTORY.fullmatch(parts[-2]):
        return None
    return str(PurePosixPath(*parts[:-3], parts[-1]))


def in_own_places(files: Mapping[str, Path]) -> dict[str, Path]:
    """Return files by the paths that the program used, without manifests."""
    return {
        own_place(name) or name: path
        for name, path in files.items()
        if PurePosixPath(name).parts[-2:] != (TOP, MANIFEST)
    }

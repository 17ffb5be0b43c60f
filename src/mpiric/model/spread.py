"""Files spread over subdirectories: `out/mpiric-spread/03/restart.17` in place of `out/restart.17`.

The runtime makes them so (`src/runtime/spread`); the directory of all subdirectories
holds a manifest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mpiric.model.file_rules import is_plain_pattern

TOP = "mpiric-spread"
MANIFEST = "manifest"
MANIFEST_BEGINS = "mpiric spread "
_MOST_SUBDIRECTORIES = 4096  # `most_subdirectories` of the runtime
_SUBDIRECTORY = re.compile(r"\d{2,4}")


@dataclass(frozen=True)
class SpreadRule:
    """Files whose names fit a pattern, as in fnmatch(3), are spread over so many subdirectories."""

    pattern: str
    subdirectories: int


def parse_spread(text: str) -> tuple[SpreadRule, ...]:
    """The rules of `restart.*:16;dump.*:4`. Raises ValueError for anything else."""
    rules = []
    for part in text.split(";"):
        pattern, _, count = part.rpartition(":")
        if not is_plain_pattern(pattern) or not re.fullmatch(r"[1-9]\d{0,3}", count):
            raise ValueError(f"no pattern with a number of subdirectories: {part!r}")
        if int(count) > _MOST_SUBDIRECTORIES:
            raise ValueError(f"more than {_MOST_SUBDIRECTORIES} subdirectories: {part!r}")
        rules.append(SpreadRule(pattern, int(count)))
    return tuple(rules)


def write_spread(rules: tuple[SpreadRule, ...]) -> str:
    """The text that `parse_spread` reads."""
    return ";".join(f"{rule.pattern}:{rule.subdirectories}" for rule in rules)


def own_place(path: str) -> str | None:
    """`out/mpiric-spread/03/restart.17` → `out/restart.17`; None for a file that is not spread."""
    parts = PurePosixPath(path).parts
    if len(parts) < 3 or parts[-3] != TOP or not _SUBDIRECTORY.fullmatch(parts[-2]):
        return None
    return str(PurePosixPath(*parts[:-3], parts[-1]))


def in_own_places(found: Mapping[str, Path]) -> dict[str, Path]:
    """Files by the paths that the program named, manifests left out."""
    return {
        own_place(name) or name: path
        for name, path in found.items()
        if PurePosixPath(name).parts[-2:] != (TOP, MANIFEST)
    }

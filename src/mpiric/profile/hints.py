"""Hints of MPI-IO in force, as the runtime reads them back from the files that a recorded run opened."""

from collections.abc import Mapping
from pathlib import Path

Hints = Mapping[str, Mapping[str, str]]  # path as the program gave it → key → value


def read_hints(directory: Path) -> Hints:
    """The hints of the first files that each rank opened; of one opened again, those of the last time."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(directory.glob("hints.*")):
        of_file: dict[str, str] = {}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(" ")
            if key == "file":
                of_file = found.setdefault(value, {})
            else:
                of_file[key] = value
    return found

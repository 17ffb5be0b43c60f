"""Hints of MPI-IO in force, as the runtime reads them back from the files that a recorded run opened."""

from collections.abc import Mapping
from pathlib import Path

from mpiric.host.files import LARGEST_TEXT_BYTES, open_and_read
from mpiric.model.errors import MpiricError

Hints = Mapping[str, Mapping[str, str]]  # path as the program gave it → key → value


def read_hints(directory: Path) -> Hints:
    """The hints of the first files that each rank opened; of one opened again, those of the last time."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(directory.glob("hints.*")):
        of_file: dict[str, str] = {}
        try:
            text = open_and_read(path, "file of hints", LARGEST_TEXT_BYTES).decode(errors="replace")
        except (OSError, MpiricError):
            continue
        for line in text.splitlines():
            key, _, value = line.partition(" ")
            if key == "file":
                of_file = found.setdefault(value, {})
            else:
                of_file[key] = value
    return found

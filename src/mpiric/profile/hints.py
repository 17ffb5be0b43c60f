"""MPI-IO hints in effect, as the runtime read them back from the files of a recorded run."""

from collections.abc import Mapping
from pathlib import Path

from mpiric.host.files import LARGEST_TEXT_BYTES, open_and_read
from mpiric.model.errors import MpiricError

Hints = Mapping[str, Mapping[str, str]]  # path used by the program → key → value


def read_hints(directory: Path) -> Hints:
    """Return the hints of the first files that each rank opened; the last open of a file counts."""
    hints: dict[str, dict[str, str]] = {}
    for path in sorted(directory.glob("hints.*")):
        of_file: dict[str, str] = {}
        try:
            text = open_and_read(path, "file of hints", LARGEST_TEXT_BYTES).decode(errors="replace")
        except (OSError, MpiricError):
            continue
        for line in text.splitlines():
            key, _, value = line.partition(" ")
            if key == "file":
                of_file = hints.setdefault(value, {})
            else:
                of_file[key] = value
    return hints

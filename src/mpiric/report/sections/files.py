"""Files and standard streams."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Files"
_MOST = 50


def view(profile: Profile) -> dict[str, Any]:
    """Return the most expensive files, and totals over all files."""
    return {
        "files": profile.files[:_MOST],
        "left_out": max(0, len(profile.files) - _MOST),
        "numbers": profile.numbers,
    }

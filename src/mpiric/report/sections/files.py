"""Files and standard streams."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Files"
_MOST = 50


def view(profile: Profile) -> dict[str, Any]:
    """The most expensive files, and the numbers over all of them."""
    return {
        "files": profile.files[:_MOST],
        "left_out": max(0, len(profile.files) - _MOST),
        "numbers": profile.numbers,
    }

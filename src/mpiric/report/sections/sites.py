"""Places in the program that call MPI, if they were recorded."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Call sites"
_MOST = 40


def view(profile: Profile) -> dict[str, Any]:
    """Return the most expensive places."""
    return {"sites": profile.sites[:_MOST], "left_out": max(0, len(profile.sites) - _MOST)}

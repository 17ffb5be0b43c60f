"""How the numbers are made, and what is missing."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "How to read this"


def view(profile: Profile) -> dict[str, Any]:
    """The notes of the record."""
    return {"notes": profile.notes, "method": profile.efficiencies.method}

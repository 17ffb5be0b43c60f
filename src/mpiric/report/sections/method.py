"""Method of measurement and gaps of the record."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "How to read this"


def view(profile: Profile) -> dict[str, Any]:
    """Return the notes of the record."""
    return {"notes": profile.notes, "method": profile.efficiencies.method}

"""What to do, each with its evidence and the command that applies it."""

from typing import Any

from mpiric.model.profile import Profile
from mpiric.report._amounts import expectation

TITLE = "What to do"


def view(profile: Profile) -> dict[str, Any]:
    """Advice, and for each in words what it would bring."""
    return {"advice": [(each, expectation(each)) for each in profile.advice]}

"""What to do, each with its evidence and the command that applies it."""

from typing import Any

from mpiric.model.profile import Profile
from mpiric.report._amounts import expectation
from mpiric.report._causes import effects_in_words

TITLE = "What to do"


def view(profile: Profile) -> dict[str, Any]:
    """Advice, and for each in words what it would bring and what brings it about."""
    effects = effects_in_words(profile.advice)
    return {"advice": [(each, expectation(each), effects.get(each.finding.id)) for each in profile.advice]}

"""Advice with its evidence and the command that applies it."""

from typing import Any

from mpiric.model.profile import Profile
from mpiric.report._amounts import effects_in_words, expectation

TITLE = "Recommendations"


def view(profile: Profile) -> dict[str, Any]:
    """Return each advice with the wording of its expected gain and its causes."""
    effects = effects_in_words(profile.advice)
    return {"advice": [(item, expectation(item), effects.get(item.finding.id)) for item in profile.advice]}

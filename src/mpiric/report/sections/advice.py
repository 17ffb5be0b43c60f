"""What to do, each with its evidence and the command that applies it."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "What to do"


def view(profile: Profile) -> dict[str, Any]:
    """Advice, and for each the tune that would try its knobs."""
    return {"advice": [(each, _command(each.knobs, profile.command)) for each in profile.advice]}


def _command(knobs: tuple[str, ...], command: str) -> str:
    return f"mpiric tune --only {','.join(knobs)} -- {command}" if knobs else ""

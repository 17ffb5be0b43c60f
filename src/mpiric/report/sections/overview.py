"""Headline: how long, how much of it MPI, and the efficiencies that multiply to the whole."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "At a glance"

_MEANING = {
    "parallel": "mean useful time of a rank over the run time: load balance × communication",
    "load_balance": "mean over longest useful time: is the work evenly spread?",
    "communication": "longest useful time over the run time: serialisation × transfer",
    "serialisation": "what waiting for one another leaves",
    "transfer": "what moving data leaves",
}


def view(profile: Profile) -> dict[str, Any]:
    """Efficiencies with their meaning."""
    return {
        "efficiencies": [
            (name.replace("_", " "), getattr(profile.efficiencies, name), words)
            for name, words in _MEANING.items()
        ]
    }

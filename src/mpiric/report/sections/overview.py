"""Headline: run time, share of MPI, and the efficiencies as a product."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "At a glance"

_MEANING = {
    "parallel": "mean useful time of a rank over the run time: load balance × communication",
    "load_balance": "mean over longest useful time: is the work evenly spread?",
    "communication": "longest useful time over the run time: serialisation × transfer",
    "serialisation": "share of time not lost by waiting for other ranks",
    "transfer": "share of time not lost by data transfer",
}


def view(profile: Profile) -> dict[str, Any]:
    """Return the efficiencies with their meaning."""
    return {
        "efficiencies": [
            (name.replace("_", " "), getattr(profile.efficiencies, name), meaning)
            for name, meaning in _MEANING.items()
        ]
    }

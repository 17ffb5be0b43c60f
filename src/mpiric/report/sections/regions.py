"""Phases that the program named with MPI_Pcontrol, and the time of each rank in them."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Phases of the program"
_MOST_BARS = 512


def view(profile: Profile) -> dict[str, Any]:
    """Return rows for the table, and the time per rank and region (a sample of many ranks) for the chart."""
    names = [region.name for region in profile.regions[1:]]
    step = -(-len(profile.ranks) // _MOST_BARS) or 1
    some = profile.ranks[::step]
    return {
        "regions": profile.regions,
        "chart": {
            "labels": [str(use.rank) for use in some],
            "series": {name: [dict(use.regions).get(name, 0.0) for use in some] for name in names},
        },
    }

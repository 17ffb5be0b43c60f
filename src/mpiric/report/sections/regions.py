"""Phases that the program named through MPI_Pcontrol, and what each rank spent in them."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Phases of the program"
_MOST_BARS = 512


def view(profile: Profile) -> dict[str, Any]:
    """Rows for the table; for the chart the time of each rank in each region, thinned out for many ranks."""
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

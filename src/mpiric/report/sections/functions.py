"""Time per function."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "MPI functions"


def view(profile: Profile) -> dict[str, Any]:
    """Return every function with its share of the time of all ranks, which excludes start-up."""
    total_s = sum(rank.time_s for rank in profile.ranks)
    outside = ("MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Finalize", "MPI_Session_finalize")
    return {
        "rows": [
            (use, use.time_s / total_s if total_s and use.name not in outside else None)
            for use in profile.functions
        ]
    }

"""Time of each rank by activity."""

from typing import Any

from mpiric.model.profile import Profile, RankUse

TITLE = "Ranks"
_MOST_BARS = 512  # above that, a bar is the mean of neighbouring ranks
_OUTLIERS = 8


def view(profile: Profile) -> dict[str, Any]:
    """Return bars for the chart, and the busiest and the idlest ranks for the table."""
    step = -(-len(profile.ranks) // _MOST_BARS) or 1
    groups = [profile.ranks[at : at + step] for at in range(0, len(profile.ranks), step)]
    ordered = sorted(profile.ranks, key=lambda use: -use.useful_s)
    some = ordered if len(ordered) <= 2 * _OUTLIERS else [*ordered[:_OUTLIERS], *ordered[-_OUTLIERS:]]
    return {
        "ranks": some,
        "shortened": len(some) < len(profile.ranks),
        "step": step,
        "chart": {
            "labels": [
                f"{group[0].rank}" if step == 1 else f"{group[0].rank}–{group[-1].rank}" for group in groups
            ],
            "series": {
                "useful": [_mean(group, lambda use: max(0.0, use.useful_s - use.io_s)) for group in groups],
                "files": [_mean(group, lambda use: min(use.io_s, use.useful_s)) for group in groups],
                "point to point": [_mean(group, lambda use: use.point_to_point_s) for group in groups],
                "collectives": [_mean(group, lambda use: use.collective_s) for group in groups],
                "other MPI": [_mean(group, _other) for group in groups],
            },
        },
    }


def _other(use: RankUse) -> float:
    return max(0.0, use.mpi_s - use.collective_s - use.point_to_point_s)


def _mean(group: tuple[RankUse, ...], value_of: Any) -> float:
    return float(sum(value_of(use) for use in group) / len(group))

"""Communicators and their collectives."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Communicators and collectives"
_MOST = 100  # number of rows; report.json has all


def view(profile: Profile) -> dict[str, Any]:
    """Return the most expensive communicators and collectives."""
    return {
        "communicators": [(use, _listed(use.ranks)) for use in profile.communicators[:_MOST]],
        "collectives": profile.collectives[:_MOST],
        "left_out": max(0, len(profile.communicators) - _MOST) + max(0, len(profile.collectives) - _MOST),
    }


def _listed(ranks: tuple[int, ...]) -> str:
    """Format ranks as ``0–3, 8``, at most six ranges."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    ranges = [str(first) if first == last else f"{first}–{last}" for first, last in runs]
    return ", ".join(ranges[:6]) + (", …" if len(ranges) > 6 else "")

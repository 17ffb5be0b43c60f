"""Communicators, and the collectives on each of them."""

from typing import Any

from mpiric.model.profile import Profile

TITLE = "Communicators and collectives"
_MOST = 100  # rows; the rest is in report.json


def view(profile: Profile) -> dict[str, Any]:
    """The most expensive communicators and collectives."""
    return {
        "communicators": [(use, _listed(use.ranks)) for use in profile.communicators[:_MOST]],
        "collectives": profile.collectives[:_MOST],
        "left_out": max(0, len(profile.communicators) - _MOST) + max(0, len(profile.collectives) - _MOST),
    }


def _listed(ranks: tuple[int, ...]) -> str:
    """``0–3, 8`` and so on, cut where it would get long."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    words = [str(first) if first == last else f"{first}–{last}" for first, last in runs]
    return ", ".join(words[:6]) + (", …" if len(words) > 6 else "")

"""Calls, bytes and time by the size of a call."""

from typing import Any

from mpiric.model.amount import size
from mpiric.model.profile import Profile

TITLE = "Message sizes"


def view(profile: Profile) -> dict[str, Any]:
    """Return rows for the table and columns for the chart."""
    labels = [f"{size(use.low_bytes)} – {size(use.high_bytes + 1)}" for use in profile.sizes]
    total_s = sum(use.time_s for use in profile.sizes)
    return {
        "rows": [
            (label, use, use.time_s / total_s if total_s else 0.0)
            for label, use in zip(labels, profile.sizes, strict=True)
        ],
        "chart": {
            "labels": labels,
            "calls": [use.calls for use in profile.sizes],
            "bytes": [use.bytes for use in profile.sizes],
            "time_s": [use.time_s for use in profile.sizes],
        },
    }

"""What another order of ranks would change, with pictures of both."""

from typing import Any

from mpiric.model.profile import Profile
from mpiric.report.rank_order_html import order_pictures
from mpiric.report.rank_order_text import mapped_text

TITLE = "Rank order"


def view(profile: Profile) -> dict[str, Any]:
    """Text and pictures of the order that was found; neither where none was sought."""
    if profile.order is None:
        return {"text": "", "pictures": ()}
    order = profile.order
    return {
        "text": mapped_text(order.mapped),
        "pictures": order_pictures(order.mapped, order.graph, order.machine),
    }

"""Effect of a better rank order, with pictures of both."""

from typing import Any

from mpiric.model.profile import Profile
from mpiric.report.rank_order_html import order_pictures
from mpiric.report.rank_order_text import mapped_text

TITLE = "Rank order"


def view(profile: Profile) -> dict[str, Any]:
    """Return text and pictures of the order; both empty if no order was searched for."""
    if profile.order is None:
        return {"text": "", "pictures": ()}
    order = profile.order
    return {
        "text": mapped_text(order.mapped),
        "pictures": order_pictures(order.mapped, order.graph, order.machine),
    }

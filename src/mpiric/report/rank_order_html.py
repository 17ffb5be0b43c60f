"""Rank order as a self-contained page, and its pictures for the report on a record."""

from markupsafe import Markup

from mpiric import __version__
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import RankGraph
from mpiric.report._pages import page
from mpiric.report.rank_order_svg import grid_svg, links_svg, matrix_svg
from mpiric.report.rank_order_text import mapped_text


def order_pictures(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> tuple[tuple[str, Markup], ...]:
    """Return title and SVG of each picture that applies."""
    drawn = (
        ("Traffic between slots; lines are borders of nodes", matrix_svg(mapped, graph, machine)),
        ("Nodes on the grid of ranks", grid_svg(mapped, graph, machine)),
        ("Busiest links: before grey, after blue", links_svg(mapped, machine)),
    )
    return tuple((title, Markup(svg)) for title, svg in drawn if svg)  # noqa: S704 names are escaped


def mapped_html(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Render the page."""
    return page(
        "rank_order.html",
        text=mapped_text(mapped),
        pictures=order_pictures(mapped, graph, machine),
        ranks=graph.size,
        version=__version__,
    )

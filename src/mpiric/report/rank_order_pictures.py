"""Pictures of a rank order: a page, SVG for the report on a record, and text for the terminal."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest

import numpy as np
from markupsafe import Markup

from mpiric import __version__
from mpiric.model.amount import size
from mpiric.model.dataclass import dataclass
from mpiric.model.mapping import MachineSlots, Mapped, Numbers, RankGraph, Weights
from mpiric.report._pages import page
from mpiric.report.rank_order_text import mapped_text

_MOST_LINKS = 8


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


@dataclass(frozen=True)
class MatrixCells:
    """Traffic between slots in tree order; a cell holds several slots of a large machine."""

    sums: Weights  # square matrix
    borders: tuple[int, ...]  # first cells of nodes; () if cells hold several nodes
    per_cell: float  # slots per cell


def matrix_cells(graph: RankGraph, machine: MachineSlots, slots: Numbers, limit: int) -> MatrixCells:
    """Add up the traffic into at most ``limit`` rows and columns."""
    count = min(machine.tree.slots, limit)
    cell = slots * count // machine.tree.slots
    sums = np.zeros((count, count))
    np.add.at(sums, (cell[graph.sources], cell[graph.targets]), graph.weights)
    nodes = machine.tree.nodes
    begins = np.flatnonzero(np.diff(nodes)) + 1
    at = begins * count // machine.tree.slots
    is_clear = len(np.unique(at)) == len(at) and len(at) * 2 <= count
    return MatrixCells(sums, tuple(at.tolist()) if is_clear else (), machine.tree.slots / count)


def grid_planes(graph: RankGraph, machine: MachineSlots, slots: Numbers, limit: int) -> tuple[Numbers, ...]:
    """Return the node of each rank on the planes of its grid; () without a grid of at most ``limit``."""
    if len(graph.extents) not in (2, 3) or max(graph.extents[-2:]) > limit:
        return ()
    nodes = machine.tree.nodes[slots].reshape(graph.extents)
    return tuple(nodes.reshape(-1, *graph.extents[-2:]))


def busiest_links(mapped: Mapped, machine: MachineSlots) -> Iterator[tuple[str, float, float]]:
    """Yield name, bytes before and bytes after of the busiest links."""
    before, after = mapped.before.link_loads, mapped.after.link_loads
    if before is None or after is None or machine.network is None:
        return
    for link in np.argsort(-np.maximum(before, after), kind="stable")[:_MOST_LINKS]:
        if before[link] > 0 or after[link] > 0:
            yield machine.network.link_name(int(link)), float(before[link]), float(after[link])


_SIDE, _GAP, _HEAD = 300, 30, 24
_CELLS, _GRID, _PLANES = 96, 64, 4
_DECADES = 3.0
_STEPS = 12  # steps of colour
_BAR, _LABEL, _ROW = 320, 260, 40


def matrix_svg(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Draw both matrices as squares; dark cells have much traffic."""
    both = [matrix_cells(graph, machine, slots, _CELLS) for slots in (mapped.slots_before, mapped.slots)]
    largest = max(cells.sums.max(initial=0) for cells in both)
    drawn = [
        f'<g transform="translate({number * (_SIDE + _GAP)},0)">'
        f"{_text(0, 16, title)}{_matrix(cells, largest)}</g>"
        for number, (title, cells) in enumerate(zip(("before", "after"), both, strict=True))
    ]
    return _svg(2 * _SIDE + _GAP, _SIDE + _HEAD, "traffic between slots", drawn)


def grid_svg(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Draw the planes of the grid with the node of each rank as a colour; "" if ranks have no grid."""
    planes = [
        grid_planes(graph, machine, slots, _GRID)[:_PLANES] for slots in (mapped.slots_before, mapped.slots)
    ]
    if not planes[0]:
        return ""
    drawn, rows, columns = [], *planes[0][0].shape
    box = _SIDE / max(rows, columns)
    height = rows * box + _HEAD
    for side, side_name in enumerate(("before", "after")):
        for number, plane in enumerate(planes[side]):
            title = side_name + (f", plane {number}" if len(planes[side]) > 1 else "")
            drawn.append(
                f'<g transform="translate({side * (_SIDE + _GAP)},{number * height:.1f})">'
                f"{_text(0, 16, title)}{_plane(plane, box, machine)}</g>"
            )
    return _svg(2 * _SIDE + _GAP, height * len(planes[0]), "nodes on the grid of ranks", drawn)


def links_svg(mapped: Mapped, machine: MachineSlots) -> str:
    """Draw two bars for each of the busiest links; "" without a network."""
    links = list(busiest_links(mapped, machine))
    if not links:
        return ""
    longest = max(max(before, after) for _, before, after in links)
    drawn = []
    for row, (name, before, after) in enumerate(links):
        top = row * _ROW
        drawn.append(_text(0, top + 18, name))
        for place, (value, fill) in enumerate(((before, "#b0b8c4"), (after, "#2f8ac0"))):
            width = _BAR * value / longest
            at = top + 4 + place * 15
            drawn.append(f'<rect x="{_LABEL}" y="{at}" width="{width:.1f}" height="13" fill="{fill}"/>')
            drawn.append(_text(_LABEL + width + 6, at + 11, size(value)))
    return _svg(_LABEL + _BAR + 90, len(links) * _ROW, "busiest links, before and after", drawn)


def _matrix(cells: MatrixCells, largest: float) -> str:
    count = len(cells.sums)
    box = _SIDE / count
    drawn = [f'<rect y="{_HEAD}" width="{_SIDE}" height="{_SIDE}" fill="#f4f5f7"/>']
    for row, column in zip(*np.nonzero(cells.sums), strict=True):
        depth = 1 + max(-1.0, float(np.log10(cells.sums[row, column] / largest)) / _DECADES)
        step = max(1, round(depth * _STEPS))
        drawn.append(
            f'<rect x="{column * box:.2f}" y="{_HEAD + row * box:.2f}" width="{box:.2f}" height="{box:.2f}" '
            f'fill="hsl(215,60%,{92 - 70 * step / _STEPS:.0f}%)"/>'
        )
    for border in cells.borders:
        at = border * box
        cross = f"M{at:.2f} {_HEAD}v{_SIDE}M0 {_HEAD + at:.2f}h{_SIDE}"
        drawn.append(f'<path d="{cross}" stroke="#e0653b" stroke-width="0.6"/>')
    return "".join(drawn)


def _plane(nodes: Numbers, box: float, machine: MachineSlots) -> str:
    drawn = []
    for (row, column), node in np.ndenumerate(nodes):
        host = _host(int(node), machine)
        # The golden angle gives neighbours different colours.
        drawn.append(
            f'<rect x="{column * box:.2f}" y="{_HEAD + row * box:.2f}" width="{box:.2f}" height="{box:.2f}" '
            f'fill="hsl({int(node) * 137.5 % 360:.0f},60%,65%)"><title>{escape(host)}</title></rect>'
        )
    return "".join(drawn)


def _host(node: int, machine: MachineSlots) -> str:
    return machine.hosts[int(np.searchsorted(machine.tree.nodes, node))] if machine.hosts else f"node {node}"


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor">{escape(text)}</text>'


def _svg(width: float, height: float, title: str, drawn: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" font-family="sans-serif" font-size="12" style="max-width:100%;height:auto">'
        f"<title>{escape(title)}</title>{''.join(drawn)}</svg>"
    )


_TEXT_SHADES = " ·░▒▓█"
_TEXT_DECADES = 3.0  # decades between the lightest and the darkest shade
_TEXT_CELLS = 24
_TEXT_GRID = 32
_TEXT_PLANES = 3
_TEXT_BAR = 24
_NODES = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mapped_picture(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Draw the matrices before (left) and after (right), the grid and the links."""
    return "\n".join(_lines(mapped, graph, machine))


def _lines(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> Iterator[str]:
    before, after = (
        matrix_cells(graph, machine, slots, _TEXT_CELLS) for slots in (mapped.slots_before, mapped.slots)
    )
    largest = max(before.sums.max(initial=0), after.sums.max(initial=0))
    yield ""
    lines = ", lines between nodes" if before.borders else ""
    yield f"traffic between slots ({before.per_cell:.3g} per cell{lines})"
    yield from _side_by_side(_text_matrix(before, largest), _text_matrix(after, largest))
    planes = (
        grid_planes(graph, machine, mapped.slots_before, _TEXT_GRID),
        grid_planes(graph, machine, mapped.slots, _TEXT_GRID),
    )
    for number, (plane_before, plane_after) in enumerate(zip(*planes, strict=True)):
        if number == _TEXT_PLANES:
            yield f"… and {len(planes[0]) - number} more planes"
            break
        yield ""
        yield "nodes on the grid of ranks" + (f", plane {number}" if len(planes[0]) > 1 else "")
        yield from _side_by_side(_text_plane(plane_before), _text_plane(plane_after))
    links = list(busiest_links(mapped, machine))
    if links:
        longest = max(max(then, now) for _, then, now in links)
        yield ""
        yield "busiest links"
        for name, then, now in links:
            yield f"  {name}"
            yield f"    before {_bar(then, longest)} {size(then)}"
            yield f"    after  {_bar(now, longest)} {size(now)}"


def _text_matrix(cells: MatrixCells, largest: float) -> list[str]:
    with np.errstate(divide="ignore"):
        depth = (
            np.log10(cells.sums / largest) / _TEXT_DECADES
            if largest > 0
            else np.full(cells.sums.shape, -np.inf)
        )
    darkest = len(_TEXT_SHADES) - 1
    shade = np.where(cells.sums > 0, np.clip(np.ceil((1 + np.maximum(depth, -1)) * darkest), 1, darkest), 0)
    shades = [[int(value) for value in row] for row in shade]
    lines = []
    for row, values in enumerate(shades):
        if row in cells.borders:
            lines.append(_separated(["─"] * len(values), cells.borders, "┼"))
        lines.append(_separated([_TEXT_SHADES[value] for value in values], cells.borders, "│"))
    return lines


def _separated(letters: list[str], borders: tuple[int, ...], between: str) -> str:
    return "".join((between if column in borders else "") + letter for column, letter in enumerate(letters))


def _text_plane(nodes: Numbers) -> list[str]:
    return ["".join(_NODES[int(node) % len(_NODES)] for node in row) for row in nodes]


def _side_by_side(before: list[str], after: list[str]) -> Iterator[str]:
    width = max([len("before"), *map(len, before)])
    for first, second in zip_longest(("before", *before), ("after", *after), fillvalue=""):
        yield f"  {first:{width}}   {second}".rstrip()


def _bar(value: float, longest: float) -> str:
    return "█" * max(round(_TEXT_BAR * value / longest), 1 if value > 0 else 0) if longest > 0 else ""

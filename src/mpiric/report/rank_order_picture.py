"""An order for the terminal: the matrix before and after, nodes on the grid of ranks, the busiest links."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from mpiric.model.amount import size
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import Numbers, RankGraph, Weights
from mpiric.report._order_cells import MatrixCells, busiest_links, grid_planes, matrix_cells

_SHADES = " ·░▒▓█"
_DECADES = 3.0  # from the lightest shade to the darkest
_CELLS = 24
_GRID = 32
_PLANES = 3
_BAR = 24
_NODES = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mapped_picture(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Draw the matrix before on the left, after on the right."""
    return "\n".join(_lines(mapped, graph, machine))


def _lines(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> Iterator[str]:
    before, found = (matrix_cells(graph, machine, slots, _CELLS) for slots in (mapped.given, mapped.slots))
    most = max(before.sums.max(initial=0), found.sums.max(initial=0))
    yield ""
    lines = ", lines between nodes" if before.borders else ""
    yield f"who sends to whom, by slot ({before.per_cell:.3g} a cell{lines})"
    yield from _beside(_matrix(before, most), _matrix(found, most), "before", "after")
    planes = (
        grid_planes(graph, machine, mapped.given, _GRID),
        grid_planes(graph, machine, mapped.slots, _GRID),
    )
    for number, (given_plane, found_plane) in enumerate(zip(*planes, strict=True)):
        if number == _PLANES:
            yield f"… and {len(planes[0]) - number} planes more"
            break
        yield ""
        yield "nodes on the grid of ranks" + (f", plane {number}" if len(planes[0]) > 1 else "")
        yield from _beside(_plane(given_plane), _plane(found_plane), "before", "after")
    links = list(busiest_links(mapped, machine))
    if links:
        longest = max(max(then, now) for _, then, now in links)
        yield ""
        yield "busiest links"
        for name, then, now in links:
            yield f"  {name}"
            yield f"    before {_bar(then, longest)} {size(then)}"
            yield f"    after  {_bar(now, longest)} {size(now)}"


def _matrix(cells: MatrixCells, most: float) -> list[str]:
    shades = _shades(cells.sums, most)
    lines = []
    for row, values in enumerate(shades):
        if row in cells.borders:
            lines.append(_separated(["─"] * len(values), cells.borders, "┼"))
        lines.append(_separated([_SHADES[value] for value in values], cells.borders, "│"))
    return lines


def _separated(letters: list[str], borders: tuple[int, ...], between: str) -> str:
    return "".join((between if column in borders else "") + letter for column, letter in enumerate(letters))


def _shades(sums: Weights, most: float) -> list[list[int]]:
    with np.errstate(divide="ignore"):
        depth = np.log10(sums / most) / _DECADES if most > 0 else np.full(sums.shape, -np.inf)
    darkest = len(_SHADES) - 1
    shade = np.where(sums > 0, np.clip(np.ceil((1 + np.maximum(depth, -1)) * darkest), 1, darkest), 0)
    return [[int(value) for value in row] for row in shade]


def _plane(nodes: Numbers) -> list[str]:
    return ["".join(_NODES[int(node) % len(_NODES)] for node in row) for row in nodes]


def _beside(left: list[str], right: list[str], left_title: str, right_title: str) -> Iterator[str]:
    width = max([len(left_title), *map(len, left)])
    for first, second in zip_longest((left_title, *left), (right_title, *right), fillvalue=""):
        yield f"  {first:{width}}   {second}".rstrip()


def _bar(value: float, longest: float) -> str:
    return "█" * max(round(_BAR * value / longest), 1 if value > 0 else 0) if longest > 0 else ""

"""Rank order for the terminal: matrix before and after, nodes on the grid of ranks, busiest links."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from mpiric.model.amount import size
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import Numbers, RankGraph, Weights
from mpiric.report.rank_order_html import MatrixCells, busiest_links, grid_planes, matrix_cells

_SHADES = " ·░▒▓█"
_DECADES = 3.0  # decades between the lightest and the darkest shade
_CELLS = 24
_GRID = 32
_PLANES = 3
_BAR = 24
_NODES = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mapped_picture(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> str:
    """Draw the matrices before (left) and after (right), the grid and the links."""
    return "\n".join(_lines(mapped, graph, machine))


def _lines(mapped: Mapped, graph: RankGraph, machine: MachineSlots) -> Iterator[str]:
    before, after = (
        matrix_cells(graph, machine, slots, _CELLS) for slots in (mapped.slots_before, mapped.slots)
    )
    largest = max(before.sums.max(initial=0), after.sums.max(initial=0))
    yield ""
    lines = ", lines between nodes" if before.borders else ""
    yield f"traffic between slots ({before.per_cell:.3g} per cell{lines})"
    yield from _side_by_side(_matrix(before, largest), _matrix(after, largest))
    planes = (
        grid_planes(graph, machine, mapped.slots_before, _GRID),
        grid_planes(graph, machine, mapped.slots, _GRID),
    )
    for number, (plane_before, plane_after) in enumerate(zip(*planes, strict=True)):
        if number == _PLANES:
            yield f"… and {len(planes[0]) - number} more planes"
            break
        yield ""
        yield "nodes on the grid of ranks" + (f", plane {number}" if len(planes[0]) > 1 else "")
        yield from _side_by_side(_plane(plane_before), _plane(plane_after))
    links = list(busiest_links(mapped, machine))
    if links:
        longest = max(max(then, now) for _, then, now in links)
        yield ""
        yield "busiest links"
        for name, then, now in links:
            yield f"  {name}"
            yield f"    before {_bar(then, longest)} {size(then)}"
            yield f"    after  {_bar(now, longest)} {size(now)}"


def _matrix(cells: MatrixCells, largest: float) -> list[str]:
    shades = _shades(cells.sums, largest)
    lines = []
    for row, values in enumerate(shades):
        if row in cells.borders:
            lines.append(_separated(["─"] * len(values), cells.borders, "┼"))
        lines.append(_separated([_SHADES[value] for value in values], cells.borders, "│"))
    return lines


def _separated(letters: list[str], borders: tuple[int, ...], between: str) -> str:
    return "".join((between if column in borders else "") + letter for column, letter in enumerate(letters))


def _shades(sums: Weights, largest: float) -> list[list[int]]:
    with np.errstate(divide="ignore"):
        depth = np.log10(sums / largest) / _DECADES if largest > 0 else np.full(sums.shape, -np.inf)
    darkest = len(_SHADES) - 1
    shade = np.where(sums > 0, np.clip(np.ceil((1 + np.maximum(depth, -1)) * darkest), 1, darkest), 0)
    return [[int(value) for value in row] for row in shade]


def _plane(nodes: Numbers) -> list[str]:
    return ["".join(_NODES[int(node) % len(_NODES)] for node in row) for row in nodes]


def _side_by_side(before: list[str], after: list[str]) -> Iterator[str]:
    width = max([len("before"), *map(len, before)])
    for first, second in zip_longest(("before", *before), ("after", *after), fillvalue=""):
        yield f"  {first:{width}}   {second}".rstrip()


def _bar(value: float, longest: float) -> str:
    return "█" * max(round(_BAR * value / longest), 1 if value > 0 else 0) if longest > 0 else ""

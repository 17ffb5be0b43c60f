"""Communication patterns: stencils on a grid, all-to-all along its lines (transpositions of an FFT)."""

import math
import re
from itertools import product

import numpy as np

from mpiric.mapping.graph import graph_of
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, RankGraph

_MOST = 2**26  # largest number of ranks, and of pairs in lines


def parse_extents(text: str) -> tuple[int, ...]:
    """Parse ``64x32x16``, slowest dimension first as in MPI's row-major Cartesian communicators."""
    fields = text.lower().split("x")
    if not all(re.fullmatch("[0-9]{1,9}", field) and int(field) > 0 for field in fields):
        raise MpiricError(f"{text!r} is not a grid", hint="for example --grid 64x32x16")
    extents = tuple(int(field) for field in fields)
    if math.prod(extents) > _MOST:
        raise MpiricError(
            f"the grid has too many ranks: {math.prod(extents)}; the limit is {_MOST}",
            hint="use a smaller grid",
        )
    return extents


def stencil_offsets(text: str, dimensions: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Parse a number of points (``7``, ``27``), or offsets with weights (``1,0,0:2;0,1,0``).

    The smaller of the two numbers of points that a dimension allows means neighbours across faces, the larger
    one all that touch. Offsets apply in both directions.
    """
    faces, all_around = 2 * dimensions + 1, 3**dimensions
    if text.isdigit() and int(text) in (faces, all_around):
        offsets = (o for o in product((-1, 0, 1), repeat=dimensions) if any(o))
        near = [o for o in offsets if int(text) == all_around or sum(map(abs, o)) == 1]
        return tuple((offset, 1.0) for offset in near if offset > (0,) * dimensions)
    points = []
    for word in text.split(";"):
        coordinates, _, weight = word.partition(":")
        try:
            offset, value = tuple(int(c) for c in coordinates.split(",")), float(weight or 1)
        except ValueError:
            offset, value = (), 0.0
        if len(offset) != dimensions or not any(offset) or not 0 < value < math.inf:
            raise MpiricError(
                f"{word!r} is not part of a stencil in {dimensions} dimensions",
                hint=f"--stencil {faces}, {all_around}, or offsets and weights as in '1,0,0:2;0,1,0'",
            )
        points.append((offset, value))
    return tuple(points)


def grid_graph(extents: tuple[int, ...], stencil: str, *, periodic: bool) -> RankGraph:
    """Build the graph of a stencil; a periodic grid wraps around."""
    ranks = np.arange(math.prod(extents)).reshape(extents)
    sources, targets, weights = [], [], []
    for offset, weight in stencil_offsets(stencil, len(extents)):
        if periodic:
            source, target = ranks, np.roll(ranks, [-o for o in offset], axis=tuple(range(len(extents))))
        else:
            source, target = ranks[_overlap(offset, extents)], ranks[_overlap([-o for o in offset], extents)]
        sources.append(source.ravel())
        targets.append(target.ravel())
        weights.append(np.full(source.size, 2 * weight))  # both directions
    return graph_of(
        ranks.size, np.concatenate(sources), np.concatenate(targets), np.concatenate(weights), extents=extents
    )


def lines_graph(extents: tuple[int, ...], dimensions: tuple[int, ...]) -> RankGraph:
    """Build the graph of all-to-all in the lines along some dimensions; a rank sends 1 in all to a line.

    With both dimensions of a two-dimensional grid, these are the transpositions of an FFT in pencils.
    """
    ranks = np.arange(math.prod(extents)).reshape(extents)
    if sum(ranks.size * extents[d] for d in dimensions) > _MOST:
        raise MpiricError("all-to-all along lines of this grid has too many pairs", hint="use a smaller grid")
    sources, targets, weights = [], [], []
    for dimension in dimensions:
        lines: Numbers = np.moveaxis(ranks, dimension, -1).reshape(-1, extents[dimension])
        for shift in range(1, extents[dimension]):
            sources.append(lines.ravel())
            targets.append(np.roll(lines, -shift, axis=1).ravel())
            weights.append(np.full(ranks.size, 1 / extents[dimension]))
    empty = [np.zeros(0, dtype=np.int64)]
    ends = np.concatenate(sources or empty), np.concatenate(targets or empty)
    return graph_of(ranks.size, *ends, np.concatenate(weights or [np.zeros(0)]), extents=extents)


def _overlap(offset: list[int] | tuple[int, ...], extents: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the part of the grid whose neighbours at the offset are in the grid."""
    cuts = zip(offset, extents, strict=True)
    return tuple(slice(max(0, -o), max(0, extent - max(0, o))) for o, extent in cuts)

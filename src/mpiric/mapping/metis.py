"""Graphs in the format of METIS and KaHIP: one line per vertex with its neighbours, numbered from 1."""

import numpy as np

from mpiric.mapping.graph import MOST_RANKS, graph_of
from mpiric.mapping.number_text import parse_numbers
from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, RankGraph


def read_metis(text: bytes, name: str) -> RankGraph:
    """Read the graph. Raises MpiricError when the file contradicts itself or is not symmetric."""
    parsed = parse_numbers(text, name, integers=True)
    values, per_line = parsed.values.astype(np.int64), parsed.per_line
    filled = np.flatnonzero(per_line)
    head_line = int(filled[0]) if len(filled) else 0
    head = values[: per_line[head_line]] if len(filled) else values
    if not 2 <= len(head) <= 4 or head[0] < 1:
        raise MpiricError(
            f"{name}: its first line is not a header of a METIS graph", hint="VERTICES EDGES [FORMAT]"
        )
    size, counts = int(head[0]), per_line[head_line + 1 :]
    if size > MOST_RANKS or len(counts) < size or counts[size:].any():
        lines = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
        raise MpiricError(
            f"{name}: {size} verticesbut {lines} lines of neighbours", hint="one line per vertex"
        )
    rows = _Rows(values[len(head) :], counts[:size], name, _format(head, name))
    graph = graph_of(size, rows.sources, rows.targets, rows.weights, rows.vertex_weights)
    _expect_symmetry(rows, size, name)
    if len(rows.targets) != 2 * int(head[1]):
        raise MpiricError(
            f"{name}: the header announces {head[1]} edges, the lines have {len(rows.targets) / 2:g}",
            hint="list each edge in the lines of both its ends",
        )
    return graph


def _format(head: Numbers, name: str) -> str:
    """Return three digits: vertices have sizes, vertices have weights, edges have weights."""
    form = str(head[2]).zfill(3) if len(head) > 2 else "000"
    if len(form) != 3 or set(form) - set("01"):
        raise MpiricError(f"{name}: format {form} is not known", hint="three digits, each 0 or 1")
    weights = int(head[3]) if len(head) > 3 else 1
    if weights != 1 and form[1] == "1":
        raise MpiricError(f"{name}: {weights} weights per vertex", hint="one weight is supported")
    return form


class _Rows:
    def __init__(
        self,
        values: Numbers,
        counts: Numbers,
        name: str,
        form: str,
    ) -> None:
        has_size, has_edge_weights = form[0] == "1", form[2] == "1"
        leading = int(form[1] == "1") + int(has_size)
        if (counts < leading).any():
            raise MpiricError(f"{name}: a vertex lacks its weight", hint="correct the file")
        starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
        self.vertex_weights = values[starts + int(has_size)] if form[1] == "1" else None
        if self.vertex_weights is not None and self.vertex_weights.min() < 0:
            raise MpiricError(f"{name}: the weight of a vertex is negative", hint="correct the file")
        if self.vertex_weights is not None and self.vertex_weights.sum(dtype=np.float64) >= 2.0**60:
            raise MpiricError(
                f"{name}: the weights of the vertices add up to 2^60 or more", hint="scale the weights"
            )
        is_leading = np.zeros(len(values), dtype=bool)
        for i in range(leading):
            is_leading[starts + i] = True
        entries, degrees = values[~is_leading], counts - leading
        if has_edge_weights and (degrees % 2).any():
            raise MpiricError(f"{name}: a neighbour lacks its weight", hint="correct the file")
        step = 2 if has_edge_weights else 1
        self.sources = np.repeat(np.arange(len(counts)), degrees // step)
        self.targets = entries[::step] - 1
        self.weights = (entries[1::2] if has_edge_weights else np.ones(len(entries))).astype(np.float64)


def _expect_symmetry(rows: _Rows, size: int, name: str) -> None:
    forth, back = rows.sources * size + rows.targets, rows.targets * size + rows.sources
    by_source, by_target = np.lexsort((rows.weights, forth)), np.lexsort((rows.weights, back))
    same = (forth[by_source] == back[by_target]) & (rows.weights[by_source] == rows.weights[by_target])
    if not same.all():
        at = int(np.argmin(same))
        source, target = divmod(int(min(forth[by_source][at], back[by_target][at])), size)
        raise MpiricError(
            f"{name} is not symmetric: vertices {source + 1} and {target + 1} differ",
            hint="list each edge with the same weight in the lines of both its ends",
        )

"""Readers of traffic graphs: METIS, MatrixMarket and other matrices, and lists of numbers."""

import io
import struct
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpiric.host.files import read_bounded
from mpiric.mapping.graph import MOST_RANKS, graph_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, RankGraph, Weights

_INTEGER = b"0123456789+-"
_REAL = _INTEGER + b".eE"
_BLANK = b" \t\r\n\f\v"
_SAVE = "write it with scipy.sparse.save_npz"
_SQUARE = "write one row and one column for each rank"
_TABLE = "write a square matrix, or three columns: SOURCE TARGET WEIGHT"
_MOST_DIGITS = 18  # digits of integers that fit into 64 bits


@dataclass(frozen=True)
class NumberText:
    """Values of a text, and the number of values per line."""

    values: Weights | Numbers
    per_line: Numbers


def parse_numbers(text: bytes, name: str, *, integers: bool, comment: bytes = b"%") -> NumberText:
    """Parse a text of numbers; lines that begin with ``comment`` are ignored.

    Raises MpiricError for anything else.
    """
    if comment in text:
        text = b"\n".join(line for line in text.split(b"\n") if not line.lstrip().startswith(comment))
    invalid = text.translate(None, (_INTEGER if integers else _REAL) + _BLANK)
    if invalid:
        kind = "an integer" if integers else "a number"
        raise MpiricError(f"{name}: {chr(invalid[0])!r} is not part of {kind}", hint="correct the file")
    letters = np.frombuffer(text, dtype=np.uint8)
    is_blank = np.concatenate(([True], letters <= ord(" "), [True]))
    starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:])
    ends = np.flatnonzero(~is_blank[:-1] & is_blank[1:])
    if integers and len(starts) and (ends - starts).max() > _MOST_DIGITS:
        raise MpiricError(f"{name}: a number has more than {_MOST_DIGITS} digits", hint="scale the weights")
    line_ends = np.flatnonzero(letters == ord("\n"))
    per_line = np.bincount(np.searchsorted(line_ends, starts), minlength=len(line_ends) + 1)
    return NumberText(_values(text, len(starts), name, integers=integers), per_line)


def _values(text: bytes, count: int, name: str, *, integers: bool) -> Weights | Numbers:
    kind: Any = np.int64 if integers else np.float64
    with warnings.catch_warnings():
        # NumPy warns about a text that it cannot read to its end.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values: Weights | Numbers = np.zeros(0, dtype=kind)
            if count:
                values = np.fromstring(text.decode("ascii"), dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            values = np.zeros(0, dtype=np.int64)
    if len(values) != count:
        raise MpiricError(f"{name}: it has words that are not numbers", hint="correct the file")
    return values


_MOST_UNPACKED_BYTES = 512 << 20  # a dense matrix of 8192 ranks
_FORMS = {"coordinate", "array"}
_FIELDS = {"real", "integer", "pattern", "double"}
_SYMMETRIES = {"general", "symmetric"}
# Exceptions of NumPy and zipfile for malformed files.
_UNREADABLE = (
    ValueError, TypeError, KeyError, IndexError, EOFError, OSError, MemoryError, ArithmeticError, SyntaxError,
    RuntimeError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_matrix_market(text: bytes, name: str) -> RankGraph:
    """Read entry (i, j) as traffic from rank i-1 to rank j-1; symmetric files have both directions."""
    heading = text.partition(b"\n")[0].decode("ascii", "replace").lower().split()
    is_supported = (
        len(heading) == 5
        and heading[:2] == ["%%matrixmarket", "matrix"]
        and heading[2] in _FORMS
        and heading[3] in _FIELDS
        and heading[4] in _SYMMETRIES
    )
    if not is_supported:
        raise MpiricError(
            f"{name}: not a MatrixMarket matrix of real numbers",
            hint="begin it with '%%MatrixMarket matrix coordinate real general'",
        )
    values = parse_numbers(text, name, integers=False).values.astype(np.float64)
    header_size = 3 if heading[2] == "coordinate" else 2
    dimensions = _integers(values[:header_size], name)
    if len(dimensions) < header_size or dimensions[0] != dimensions[1]:
        raise MpiricError(f"{name}: not a square matrix", hint=_SQUARE)
    size = int(dimensions[0])
    if heading[2] == "array":
        return _dense(_array(values[2:], size, name, is_symmetric=heading[4] == "symmetric"), name)
    width = 2 if heading[3] == "pattern" else 3
    if len(values) != header_size + width * int(dimensions[2]):
        raise MpiricError(
            f"{name}: the header announces {dimensions[2]} entries",
            hint="copy the file again: it is cut short",
        )
    entries = values[header_size:].reshape(-1, width)
    weights = entries[:, 2] if width == 3 else np.ones(len(entries))
    sources, targets = _integers(entries[:, 0], name) - 1, _integers(entries[:, 1], name) - 1
    if heading[4] == "symmetric":
        sources, targets = np.concatenate((sources, targets)), np.concatenate((targets, sources))
        weights = np.concatenate((weights, weights))
    return graph_of(size, sources, targets, weights)


def read_numpy(data: bytes, name: str) -> RankGraph:
    """Read a dense square array (.npy, or .npz with one array), or a sparse csr, csc or coo of SciPy."""
    try:
        _require_small(data, name)
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        arrays = {"": loaded} if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded}
        if {"data", "shape"} <= set(arrays):
            return _sparse(arrays, name)
        if len(arrays) != 1:
            raise MpiricError(
                f"{name} has {len(arrays)} arrays, not one",
                hint="write one square array, or a sparse one with scipy.sparse.save_npz",
            )
        return _dense(next(iter(arrays.values())), name)
    except _UNREADABLE as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise MpiricError(f"{name}: not a NumPy matrix: {why}", hint=_SAVE) from None


def _require_small(data: bytes, name: str) -> None:
    """Raise MpiricError for an archive whose unpacked arrays are too large."""
    if data[:2] != b"PK":
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # zipfile reads at most file_size of a member.
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _MOST_UNPACKED_BYTES:
        raise MpiricError(
            f"{name}: its arrays have {unpacked >> 20} MiB; the limit is {_MOST_UNPACKED_BYTES >> 20} MiB",
            hint=_SAVE,
        )


def read_text_matrix(text: bytes, name: str) -> RankGraph:
    """Read a square matrix, one row per line, or lines of 'source destination weight' with ranks from 0."""
    parsed = parse_numbers(text.replace(b",", b" "), name, integers=False, comment=b"#")
    values, widths = parsed.values.astype(np.float64), parsed.per_line[parsed.per_line > 0]
    if not len(widths) or (widths != widths[0]).any():
        raise MpiricError(f"{name}: its lines differ in length", hint=_TABLE)
    table = values.reshape(len(widths), int(widths[0]))
    if table.shape[0] == table.shape[1]:
        return _dense(table, name)
    if table.shape[1] != 3:
        rows, columns = table.shape
        raise MpiricError(f"{name} has {rows} lines of {columns} numbers", hint=_TABLE)
    sources, targets = _integers(table[:, 0], name), _integers(table[:, 1], name)
    return graph_of(int(max(sources.max(), targets.max())) + 1, sources, targets, table[:, 2])


def _array(
    values: npt.NDArray[np.float64], size: int, name: str, *, is_symmetric: bool
) -> npt.NDArray[np.float64]:
    expected = size * (size + 1) // 2 if is_symmetric else size * size
    if len(values) != expected:
        raise MpiricError(
            f"{name}: {len(values)} values, not {expected}", hint="copy the file again: it is cut short"
        )
    if not is_symmetric:
        square: npt.NDArray[np.float64] = values.reshape(size, size).T
        return square
    matrix = np.zeros((size, size))
    matrix.T[np.triu_indices(size)] = values
    matrix += np.tril(matrix, -1).T
    return matrix


def _dense(matrix: npt.NDArray[np.generic], name: str) -> RankGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "iufb":
        raise MpiricError(f"{name}: not a square matrix of numbers", hint=_SQUARE)
    sources, targets = np.nonzero(matrix)
    return graph_of(matrix.shape[0], sources, targets, matrix[sources, targets].astype(np.float64))


def _sparse(arrays: dict[str, npt.NDArray[np.generic]], name: str) -> RankGraph:
    rows, columns = _column(arrays["shape"], "iu", name).tolist()
    if rows != columns or rows < 1:
        raise MpiricError(f"{name}: its matrix has {rows} rows and {columns} columns", hint=_SQUARE)
    weights = _column(arrays["data"], "iufb", name).astype(np.float64)
    if "row" in arrays:
        sources, targets = _column(arrays["row"], "iu", name), _column(arrays["col"], "iu", name)
    else:
        starts, targets = _column(arrays["indptr"], "iu", name), _column(arrays["indices"], "iu", name)
        fits = len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(targets)
        if not fits or (starts[1:] < starts[:-1]).any():
            raise MpiricError(f"{name}: its indptr does not fit its shape and indices", hint=_SAVE)
        sources = np.repeat(np.arange(rows), np.diff(starts))
    if not len(sources) == len(targets) == len(weights):
        raise MpiricError(f"{name}: its arrays differ in length", hint=_SAVE)
    return graph_of(rows, sources, targets, weights)


def _column(values: npt.NDArray[np.generic], kinds: str, name: str) -> npt.NDArray[Any]:
    """Return one of the arrays of a sparse matrix; integers have 64 bits."""
    if values.ndim != 1 or values.dtype.kind not in kinds:
        raise MpiricError(f"{name}: its arrays are not one-dimensional arrays of numbers", hint=_SAVE)
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _integers(values: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.int64]:
    if not (
        np.isfinite(values).all() and (np.abs(values) < 2**53).all() and (values == np.floor(values)).all()
    ):
        raise MpiricError(f"{name}: an index is not an integer", hint="correct the file")
    return values.astype(np.int64)


def read_metis(text: bytes, name: str) -> RankGraph:
    """Read the graph. Raises MpiricError when the file contradicts itself or is not symmetric."""
    parsed = parse_numbers(text, name, integers=True)
    values, per_line = parsed.values.astype(np.int64), parsed.per_line
    filled = np.flatnonzero(per_line)
    head_line = int(filled[0]) if len(filled) else 0
    head = values[: per_line[head_line]] if len(filled) else values
    if not 2 <= len(head) <= 4 or head[0] < 1:
        raise MpiricError(
            f"{name}: its first line is not a header of a METIS graph",
            hint="begin the file with the line VERTICES EDGES [FORMAT]",
        )
    size, counts = int(head[0]), per_line[head_line + 1 :]
    if size > MOST_RANKS or len(counts) < size or counts[size:].any():
        lines = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
        raise MpiricError(
            f"{name}: {size} vertices, but {lines} lines of neighbours",
            hint="write one line for each vertex, empty if it has no neighbours",
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
        raise MpiricError(f"{name}: format {form} is not known", hint="write three digits, each 0 or 1")
    weights = int(head[3]) if len(head) > 3 else 1
    if weights != 1 and form[1] == "1":
        raise MpiricError(
            f"{name}: too many weights per vertex: {weights}; the limit is 1", hint="keep one of the weights"
        )
    return form


class _Rows:
    def __init__(self, values: Numbers, counts: Numbers, name: str, form: str) -> None:
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


_MOST_BYTES = 1 << 30  # the matrix takes several times this size in memory
_HINT = "use a file with numbers"
_READERS = {
    ".metis": read_metis,
    ".graph": read_metis,
    ".mtx": read_matrix_market,
    ".npz": read_numpy,
    ".npy": read_numpy,
    ".txt": read_text_matrix,
    ".csv": read_text_matrix,
    ".dat": read_text_matrix,
}


def read_graph(path: Path) -> RankGraph:
    """Read the traffic in a file. Raises MpiricError for other content."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise MpiricError(f"{path}: unknown suffix", hint=f"use one of {', '.join(_READERS)}")
    return reader(read_bounded(path, "graph or matrix", _MOST_BYTES, _HINT), str(path))


def read_numbers(path: Path) -> Weights:
    """Read one number per rank. Raises MpiricError for other content or negative numbers."""
    data = read_bounded(path, "list of numbers", _MOST_BYTES, _HINT)
    values = parse_numbers(data, str(path), integers=False, comment=b"#").values.astype(np.float64)
    if not len(values) or not np.isfinite(values).all() or values.min() < 0:
        raise MpiricError(
            f"{path}: a number is missing, negative or infinite", hint="write one line per rank"
        )
    return values

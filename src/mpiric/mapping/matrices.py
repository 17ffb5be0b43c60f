"""Files of traffic: graphs (METIS) and matrices (MatrixMarket, NumPy, SciPy, text)."""

import io
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from mpiric.mapping.graph import graph_of
from mpiric.mapping.number_text import parse_numbers
from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import RankGraph

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
            hint="it begins with '%%MatrixMarket matrix coordinate real general'",
        )
    values = parse_numbers(text, name, integers=False).values.astype(np.float64)
    header_size = 3 if heading[2] == "coordinate" else 2
    dimensions = _integers(values[:header_size], name)
    if len(dimensions) < header_size or dimensions[0] != dimensions[1]:
        raise MpiricError(f"{name}: not a square matrix", hint="one row and one column per rank")
    size = int(dimensions[0])
    if heading[2] == "array":
        return _dense(_array(values[2:], size, name, is_symmetric=heading[4] == "symmetric"), name)
    width = 2 if heading[3] == "pattern" else 3
    if len(values) != header_size + width * int(dimensions[2]):
        raise MpiricError(
            f"{name}: the header announces {dimensions[2]} entries", hint="the file is cut short"
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
                f"{name}: {len(arrays)} arrays", hint="one square array, or scipy.sparse.save_npz"
            )
        return _dense(next(iter(arrays.values())), name)
    except _UNREADABLE as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise MpiricError(f"{name}: not a NumPy matrix: {why}", hint="scipy.sparse.save_npz") from None


def _require_small(data: bytes, name: str) -> None:
    """Raise MpiricError for an archive whose unpacked arrays are too large."""
    if data[:2] != b"PK":
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(
            member.file_size for member in archive.infolist()
        )  # zipfile reads at most file_size of a member
    if unpacked > _MOST_UNPACKED_BYTES:
        raise MpiricError(
            f"{name}: its arrays have {unpacked >> 20} MiB; the limit is {_MOST_UNPACKED_BYTES >> 20} MiB",
            hint="save a sparse matrix: scipy.sparse.save_npz",
        )


def read_text_matrix(text: bytes, name: str) -> RankGraph:
    """Read a square matrix, one row per line, or lines of 'source destination weight' with ranks from 0."""
    parsed = parse_numbers(text.replace(b",", b" "), name, integers=False, comment=b"#")
    values, widths = parsed.values.astype(np.float64), parsed.per_line[parsed.per_line > 0]
    if not len(widths) or (widths != widths[0]).any():
        raise MpiricError(f"{name}: its lines differ in length", hint="a square matrix, or three columns")
    table = values.reshape(len(widths), int(widths[0]))
    if table.shape[0] == table.shape[1]:
        return _dense(table, name)
    if table.shape[1] != 3:
        rows, columns = table.shape
        raise MpiricError(f"{name}: {rows} rows of {columns}", hint="a square matrix, or three columns")
    sources, targets = _integers(table[:, 0], name), _integers(table[:, 1], name)
    return graph_of(int(max(sources.max(), targets.max())) + 1, sources, targets, table[:, 2])


def _array(
    values: npt.NDArray[np.float64], size: int, name: str, *, is_symmetric: bool
) -> npt.NDArray[np.float64]:
    expected = size * (size + 1) // 2 if is_symmetric else size * size
    if len(values) != expected:
        raise MpiricError(f"{name}: {len(values)} values, not {expected}", hint="the file is cut short")
    if not is_symmetric:
        square: npt.NDArray[np.float64] = values.reshape(size, size).T
        return square
    matrix = np.zeros((size, size))
    matrix.T[np.triu_indices(size)] = values
    matrix += np.tril(matrix, -1).T
    return matrix


def _dense(matrix: npt.NDArray[np.generic], name: str) -> RankGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "iufb":
        raise MpiricError(f"{name}: not a square matrix of numbers", hint="one row and one column per rank")
    sources, targets = np.nonzero(matrix)
    return graph_of(matrix.shape[0], sources, targets, matrix[sources, targets].astype(np.float64))


def _sparse(arrays: dict[str, npt.NDArray[np.generic]], name: str) -> RankGraph:
    rows, columns = _column(arrays["shape"], "iu", name).tolist()
    if rows != columns or rows < 1:
        raise MpiricError(
            f"{name}: {rows} rows and {columns} columns", hint="one row and one column per rank"
        )
    weights = _column(arrays["data"], "iufb", name).astype(np.float64)
    if "row" in arrays:
        sources, targets = _column(arrays["row"], "iu", name), _column(arrays["col"], "iu", name)
    else:
        starts, targets = _column(arrays["indptr"], "iu", name), _column(arrays["indices"], "iu", name)
        fits = len(starts) == rows + 1 and starts[0] == 0 and starts[-1] == len(targets)
        if not fits or (starts[1:] < starts[:-1]).any():
            raise MpiricError(f"{name}: its row pointers do not fit", hint="scipy.sparse.save_npz")
        sources = np.repeat(np.arange(rows), np.diff(starts))
    if not len(sources) == len(targets) == len(weights):
        raise MpiricError(f"{name}: its arrays differ in length", hint="scipy.sparse.save_npz")
    return graph_of(rows, sources, targets, weights)


def _column(values: npt.NDArray[np.generic], kinds: str, name: str) -> npt.NDArray[Any]:
    """Return one of the arrays of a sparse matrix; integers have 64 bits."""
    if values.ndim != 1 or values.dtype.kind not in kinds:
        raise MpiricError(
            f"{name}: its arrays are not one-dimensional arrays of numbers", hint="scipy.sparse.save_npz"
        )
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _integers(values: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.int64]:
    if not (
        np.isfinite(values).all() and (np.abs(values) < 2**53).all() and (values == np.floor(values)).all()
    ):
        raise MpiricError(f"{name}: an index is not an integer", hint="correct the file")
    return values.astype(np.int64)

"""Readers of files with a graph or a matrix, by suffix."""

from pathlib import Path

import numpy as np

from mpiric.host.files import read_bounded
from mpiric.mapping.matrices import read_matrix_market, read_numpy, read_text_matrix
from mpiric.mapping.metis import read_metis
from mpiric.mapping.number_text import parse_numbers
from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import RankGraph, Weights

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
        raise MpiricError(f"{path}: unknown suffix", hint=f"one of {', '.join(_READERS)}")
    return reader(read_bounded(path, "graph or matrix", _MOST_BYTES, _HINT), str(path))


def read_numbers(path: Path) -> Weights:
    """Read one number per rank. Raises MpiricError for other content or negative numbers."""
    data = read_bounded(path, "list of numbers", _MOST_BYTES, _HINT)
    values = parse_numbers(data, str(path), integers=False, comment=b"#").values.astype(np.float64)
    if not len(values) or not np.isfinite(values).all() or values.min() < 0:
        raise MpiricError(f"{path}: a number is missing, negative or infinite", hint="one line per rank")
    return values

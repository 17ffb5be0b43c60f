"""Files with a graph or a matrix, by the ends of their names."""

from pathlib import Path

import numpy as np

from mpiric.host.files import read_bounded
from mpiric.mapping.matrices import read_matrix_market, read_numpy, read_text_matrix
from mpiric.mapping.metis import read_metis
from mpiric.mapping.number_text import parse_numbers
from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import RankGraph, Weights

_MOST_BYTES = 1 << 30  # the matrix takes several times as many in memory
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
    """Read the traffic in a file. Raises MpiricError for what is none."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise MpiricError(
            f"{path}: the end of its name does not say what it is", hint=f"one of {', '.join(_READERS)}"
        )
    return reader(_bytes(path), str(path))


def read_numbers(path: Path) -> Weights:
    """Read a number for each rank. Raises MpiricError for what is none, or negative."""
    values = parse_numbers(_bytes(path), str(path), whole=False, comment=b"#").values.astype(np.float64)
    if not len(values) or not np.isfinite(values).all() or values.min() < 0:
        raise MpiricError(f"{path}: not a number from 0 on for each rank", hint="a line for each rank")
    return values


def _bytes(path: Path) -> bytes:
    return read_bounded(path, "graph or matrix", _MOST_BYTES, "name a file with numbers")

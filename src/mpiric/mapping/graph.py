"""A RankGraph from pairs of ranks and what they send; what cannot be one is refused by name."""

import numpy as np
import numpy.typing as npt

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, RankGraph

MOST_RANKS = 2**26


def graph_of(
    size: int,
    sources: Numbers,
    targets: Numbers,
    weights: npt.NDArray[np.float64],
    rank_weights: Numbers | None = None,
    extents: tuple[int, ...] = (),
    messages: npt.NDArray[np.float64] | None = None,
) -> RankGraph:
    """The traffic of directed pairs; what is sent twice is added up, what a rank sends itself is left out."""
    _check(size, sources, targets, weights)
    kept = (sources != targets) & (weights > 0)
    source, target = sources[kept], targets[kept]
    keys = np.concatenate((source * size + target, target * size + source))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(is_first)

    def halved(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        both = np.concatenate((values, values))[order] / 2
        totals: npt.NDArray[np.float64] = np.add.reduceat(both, starts) if len(keys) else both
        return totals

    rows, columns = np.divmod(keys[is_first], size)
    offsets = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=offsets[1:])
    return RankGraph(
        offsets,
        columns,
        halved(weights[kept]),
        np.ones(size, dtype=np.int64) if rank_weights is None else rank_weights,
        extents,
        None if messages is None else halved(messages[kept]),
    )


def _check(size: int, sources: Numbers, targets: Numbers, weights: npt.NDArray[np.float64]) -> None:
    if not 0 < size <= MOST_RANKS:
        raise MpiricError(
            f"a graph of {size} ranks cannot be mapped", hint=f"name one of 1 to {MOST_RANKS} ranks"
        )
    for ends in (sources, targets):
        if len(ends) and not 0 <= ends.min() <= ends.max() < size:
            wrong = int(ends.min() if ends.min() < 0 else ends.max())
            raise MpiricError(
                f"rank {wrong} is named, and the graph has {size} ranks, the first of them 0",
                hint="correct the file's size or its indices",
            )
    if not np.isfinite(weights).all():
        raise MpiricError("a weight is infinite or no number", hint="correct the file")
    if len(weights) and weights.min() < 0:
        raise MpiricError(f"a weight is negative: {weights.min():g}", hint="weights are bytes or messages")
    with np.errstate(over="ignore"):
        if not np.isfinite(2 * weights.sum()):
            raise MpiricError("the weights add up to more than a number can hold", hint="scale the weights")

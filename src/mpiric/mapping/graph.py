"""Graphs of the traffic between ranks, and machine trees described by numbers."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, RankGraph, SlotTree

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
    """Build the graph of directed pairs; equal pairs are added up, pairs of equal ranks left out."""
    _check(size, sources, targets, weights)
    is_sent = (sources != targets) & (weights > 0)
    source, target = sources[is_sent], targets[is_sent]
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
        halved(weights[is_sent]),
        np.ones(size, dtype=np.int64) if rank_weights is None else rank_weights,
        extents,
        None if messages is None else halved(messages[is_sent]),
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
                f"rank {wrong} is out of range: the graph has ranks 0 to {size - 1}",
                hint="correct the file's size or its indices",
            )
    if not np.isfinite(weights).all():
        raise MpiricError("a weight is not a finite number", hint="correct the file")
    if len(weights) and weights.min() < 0:
        raise MpiricError(f"a weight is negative: {weights.min():g}", hint="weights are bytes or messages")
    with np.errstate(over="ignore"):
        if not np.isfinite(2 * weights.sum()):
            raise MpiricError("the sum of the weights overflows", hint="scale the weights")


_MOST = 2**26


def parse_hierarchy(text: str) -> tuple[int, ...]:
    """Parse ``4:8:8``: 4 slots share the closest level, 8 of those groups the next, 8 of those the last."""
    numbers = text.split(":")
    if not all(re.fullmatch("[0-9]{1,9}", word) and int(word) > 0 for word in numbers) or len(numbers) > 16:
        raise MpiricError(
            f"{text!r} is not a hierarchy", hint="for example --hierarchy 4:8:8, innermost level first"
        )
    fan_outs = tuple(int(word) for word in numbers)
    if math.prod(fan_outs) > _MOST:
        raise MpiricError(
            f"{text} has too many slots: {math.prod(fan_outs)}; the limit is {_MOST}",
            hint="describe a part of the machine",
        )
    return fan_outs


def parse_distances(text: str, levels: int) -> tuple[float, ...]:
    """Parse ``1:10:100``: distance of two slots by their closest common level, innermost level first."""
    try:
        distances = tuple(float(number) for number in text.split(":"))
    except ValueError:
        raise MpiricError(
            f"{text!r} is not a list of distances", hint="for example --distances 1:10:100"
        ) from None
    if len(distances) != levels:
        raise MpiricError(
            f"there are {len(distances)} distances for {levels} levels", hint="give one for each level"
        )
    if not all(0 <= distance < math.inf for distance in distances):
        raise MpiricError("a distance is negative or infinite", hint="for example --distances 1:10:100")
    if any(inner > outer for inner, outer in pairwise(distances)):
        raise MpiricError(
            "an inner level has a larger distance than an outer one", hint="write the innermost level first"
        )
    return distances


def uniform_tree(fan_outs: Sequence[int], distances: Sequence[float], node_level: int = 0) -> SlotTree:
    """Return the tree of equal groups on each level; the groups of ``node_level`` are nodes."""
    slots = math.prod(fan_outs)
    widths = np.cumprod(np.array(fan_outs, dtype=np.int64))
    groups = tuple(np.arange(slots) // width for width in widths)
    return SlotTree(slots, groups, tuple(distances), node_level=node_level)

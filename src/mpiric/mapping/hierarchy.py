"""Machine trees: a hierarchy such as 4:8:8, or nodes with so many slots each."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import SlotTree

_MOST = 2**26


def parse_hierarchy(text: str) -> tuple[int, ...]:
    """``4:8:8``: 4 slots share the closest level, 8 of those the next, 8 of those the last."""
    words = text.split(":")
    if not all(re.fullmatch("[0-9]{1,9}", word) and int(word) > 0 for word in words) or len(words) > 16:
        raise MpiricError(f"{text!r} is no hierarchy", hint="--hierarchy 4:8:8, innermost level first")
    fan_outs = tuple(int(word) for word in words)
    if math.prod(fan_outs) > _MOST:
        raise MpiricError(f"{text} are {math.prod(fan_outs)} slots", hint=f"up to {_MOST} can be mapped")
    return fan_outs


def parse_distances(text: str, levels: int) -> tuple[float, ...]:
    """``1:10:100``: the distance of two slots whose closest common level is the first, second, third."""
    try:
        distances = tuple(float(word) for word in text.split(":"))
    except ValueError:
        raise MpiricError(f"{text!r} are no distances", hint="--distances 1:10:100") from None
    if len(distances) != levels:
        raise MpiricError(
            f"{len(distances)} distances for a hierarchy of {levels} levels", hint="one for each level"
        )
    if not all(0 <= distance < math.inf for distance in distances):
        raise MpiricError("a distance is negative or infinite", hint="--distances 1:10:100")
    if any(inner > outer for inner, outer in pairwise(distances)):
        raise MpiricError("an inner level is farther than an outer one", hint="innermost level first")
    return distances


def uniform_tree(fan_outs: Sequence[int], distances: Sequence[float], node_level: int = 0) -> SlotTree:
    """Groups of one size on each level; those of one level are nodes."""
    slots = math.prod(fan_outs)
    widths = np.cumprod(np.array(fan_outs, dtype=np.int64))
    groups = tuple(np.arange(slots) // width for width in widths)
    return SlotTree(slots, groups, tuple(distances), node_level=node_level)

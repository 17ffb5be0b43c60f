"""CallTraffic: what one collective call sends between ranks, and the blocks it is built of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mpiric.model.rank_graph import Numbers, Weights


@dataclass(frozen=True)
class CallTraffic:
    """Messages of one call; a pair may stand in it several times. Ranks are those of the communicator."""

    sources: Numbers
    targets: Numbers
    bytes: Weights  # of each message


def messages(sources: Numbers, targets: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Messages of equal size, or of a size each."""
    return CallTraffic(
        sources, targets, np.broadcast_to(np.float64(bytes_), sources.shape).astype(np.float64)
    )


def joined(parts: Sequence[CallTraffic]) -> CallTraffic:
    """All messages of several steps."""
    none = np.zeros(0, dtype=np.int64)
    return CallTraffic(
        np.concatenate([none, *(part.sources for part in parts)]),
        np.concatenate([none, *(part.targets for part in parts)]),
        np.concatenate([np.zeros(0), *(part.bytes for part in parts)]),
    )


def power_of_two(ranks: int) -> int:
    """The largest power of two that is not above ``ranks``."""
    return 1 << (ranks.bit_length() - 1)


def exchanges(ranks: int, bytes_of_steps: Sequence[float], folded_bytes: float) -> CallTraffic:
    """Pairwise exchanges of ranks 1, 2, 4, … apart, a size for each step.

    Where the ranks are no power of two, the first even ones hand over to their right neighbours and get the
    result from them (Thakur, Rabenseifner, Gropp 2005).
    """
    rest = ranks - power_of_two(ranks)
    even = np.arange(rest) * 2
    taking_part = np.concatenate((even + 1, np.arange(2 * rest, ranks)))
    parts = [messages(even, even + 1, folded_bytes), messages(even + 1, even, folded_bytes)] if rest else []
    numbers = np.arange(len(taking_part))
    for step, size in enumerate(bytes_of_steps):
        parts.append(messages(taking_part, taking_part[numbers ^ (1 << step)], size))
    return joined(parts)


def to_parents(ranks: int, parents: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Each rank but the first sends to its parent in a tree."""
    return messages(np.arange(1, ranks), parents[1:], bytes_)


def to_children(ranks: int, parents: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Each rank but the first gets from its parent in a tree."""
    return messages(parents[1:], np.arange(1, ranks), bytes_)


def binomial_parents(ranks: int) -> Numbers:
    """The parent of each rank in a binomial tree: its number without the lowest bit."""
    numbers = np.arange(ranks)
    parents: Numbers = numbers & (numbers - 1)
    return parents


def binomial_subtrees(ranks: int) -> Weights:
    """Ranks in the binomial subtree of each rank but the first, itself included."""
    numbers = np.arange(1, ranks)
    sizes: Weights = np.minimum(numbers & -numbers, ranks - numbers).astype(np.float64)
    return sizes


def along_ring(ranks: int, bytes_: float) -> CallTraffic:
    """Each rank to the next, the last to the first."""
    numbers = np.arange(ranks)
    return messages(numbers, (numbers + 1) % ranks, bytes_)


def all_pairs(ranks: int, bytes_: float | Weights) -> CallTraffic:
    """Each rank to every other; a size, or one for each sender."""
    sources = np.repeat(np.arange(ranks), ranks - 1)
    targets = (sources + 1 + np.tile(np.arange(ranks - 1), ranks)) % ranks
    return messages(sources, targets, np.broadcast_to(np.asarray(bytes_, dtype=np.float64), ranks)[sources])

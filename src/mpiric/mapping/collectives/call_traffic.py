"""Traffic of one collective call between ranks, and the building blocks of the algorithms."""

from collections.abc import Sequence

import numpy as np

from mpiric.model.dataclass import dataclass
from mpiric.model.mapping import Numbers, Weights


@dataclass(frozen=True)
class CallTraffic:
    """Messages of one call between ranks of the communicator; a pair may occur several times."""

    sources: Numbers
    targets: Numbers
    bytes: Weights  # one size per message


def messages(sources: Numbers, targets: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Return messages of one size, or of one size each."""
    return CallTraffic(
        sources, targets, np.broadcast_to(np.float64(bytes_), sources.shape).astype(np.float64)
    )


def joined(parts: Sequence[CallTraffic]) -> CallTraffic:
    """Return the messages of several steps together."""
    none = np.zeros(0, dtype=np.int64)
    return CallTraffic(
        np.concatenate([none, *(part.sources for part in parts)]),
        np.concatenate([none, *(part.targets for part in parts)]),
        np.concatenate([np.zeros(0), *(part.bytes for part in parts)]),
    )


def power_of_two(ranks: int) -> int:
    """Return the largest power of two that is not above ``ranks``."""
    return 1 << (ranks.bit_length() - 1)


def is_power_of_two(ranks: int) -> bool:
    """Check whether ``ranks`` is a power of two."""
    return power_of_two(ranks) == ranks


def exchanges(ranks: int, bytes_of_steps: Sequence[float], folded_bytes: float) -> CallTraffic:
    """Return pairwise exchanges of ranks 1, 2, 4, … apart, with one size per step.

    If the number of ranks is not a power of two, the first even ranks hand over to their right neighbours
    and receive the result from them (Thakur, Rabenseifner, Gropp 2005).
    """
    extra = ranks - power_of_two(ranks)
    even = np.arange(extra) * 2
    taking_part = np.concatenate((even + 1, np.arange(2 * extra, ranks)))
    parts = [messages(even, even + 1, folded_bytes), messages(even + 1, even, folded_bytes)] if extra else []
    numbers = np.arange(len(taking_part))
    for step, size in enumerate(bytes_of_steps):
        parts.append(messages(taking_part, taking_part[numbers ^ (1 << step)], size))
    return joined(parts)


def to_parents(ranks: int, parents: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Return messages of each rank but the first to its parent in a tree."""
    return messages(np.arange(1, ranks), parents[1:], bytes_)


def to_children(ranks: int, parents: Numbers, bytes_: float | Weights) -> CallTraffic:
    """Return messages to each rank but the first from its parent in a tree."""
    return messages(parents[1:], np.arange(1, ranks), bytes_)


def binomial_parents(ranks: int) -> Numbers:
    """Return the parent of each rank in a binomial tree: the rank without its lowest bit."""
    numbers = np.arange(ranks)
    parents: Numbers = numbers & (numbers - 1)
    return parents


def binomial_subtrees(ranks: int) -> Weights:
    """Return the size of the binomial subtree of each rank but the first, itself included."""
    numbers = np.arange(1, ranks)
    sizes: Weights = np.minimum(numbers & -numbers, ranks - numbers).astype(np.float64)
    return sizes


def along_ring(ranks: int, bytes_: float) -> CallTraffic:
    """Return messages of each rank to the next one, and of the last to the first."""
    numbers = np.arange(ranks)
    return messages(numbers, (numbers + 1) % ranks, bytes_)


def all_pairs(ranks: int, bytes_: float | Weights) -> CallTraffic:
    """Return messages of each rank to every other one; one size, or one size per sender."""
    sources = np.repeat(np.arange(ranks), ranks - 1)
    targets = (sources + 1 + np.tile(np.arange(ranks - 1), ranks)) % ranks
    return messages(sources, targets, np.broadcast_to(np.asarray(bytes_, dtype=np.float64), ranks)[sources])

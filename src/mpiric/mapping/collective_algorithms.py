"""Messages that the algorithms of collective calls send, by the names that MPI libraries use.

`bytes` is what a record counts for one rank and call (spec/mpi/recording.toml): the vector of a broadcast or
a reduction, the contribution of a rank to a gather, all that it sends in an all-to-all. Roots are not
recorded: rank 0 of the communicator is assumed. Parts sent one after the other (pipelines, segments) are
added up; a radix above two counts as two.

Sources: Thakur, Rabenseifner, Gropp 2005; Bruck et al. 1997; Chen et al. 2005 (neighbour exchange); De
Sensi et al. 2024 and 2025 (Swing, Bine).
"""

from collections.abc import Callable, Sequence
from math import ceil, log2

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


Algorithm = Callable[[int, float], CallTraffic]  # ranks, bytes
Parents = Callable[[int], Numbers]  # number of ranks → parent of each rank in a tree


def _steps(ranks: int) -> int:
    return power_of_two(ranks).bit_length() - 1


def _doubling(ranks: int, size: float) -> CallTraffic:
    return exchanges(ranks, [size] * _steps(ranks), size)


def _halving_and_doubling(ranks: int, size: float) -> CallTraffic:
    """Reduce-scatter by halving, then allgather by doubling, both with the same partners."""
    halves = [2 * size / 2 ** (step + 1) for step in range(_steps(ranks))]
    return exchanges(ranks, halves, size)


def _halving(ranks: int, size: float) -> CallTraffic:
    """Exchange half of the vector with the farthest rank first."""
    steps = _steps(ranks)
    return exchanges(ranks, [size / 2 ** (steps - step) for step in range(steps)], size)


def _gather_doubling(ranks: int, size: float) -> CallTraffic:
    return exchanges(ranks, [size * 2**step for step in range(_steps(ranks))], size * ranks / 2)


def _down(parents: Parents) -> Algorithm:
    """Return the algorithm that sends all bytes down a tree."""
    return lambda ranks, size: to_children(ranks, parents(ranks), size)


def _up(parents: Parents) -> Algorithm:
    """Return the algorithm that sends all bytes up a tree."""
    return lambda ranks, size: to_parents(ranks, parents(ranks), size)


def _in_turn(*algorithms: Algorithm, with_parts: bool = False) -> Algorithm:
    """Return the algorithms one after the other, of which each may handle one part per rank."""
    return lambda ranks, size: joined(
        [algorithm(ranks, size / ranks if with_parts else size) for algorithm in algorithms]
    )


def _binary_parents(ranks: int) -> Numbers:
    parents: Numbers = np.maximum(np.arange(ranks) - 1, 0) // 2
    return parents


def _chain_parents(ranks: int) -> Numbers:
    return np.maximum(np.arange(ranks) - 1, 0)


def _root(ranks: int) -> Numbers:
    return np.zeros(ranks, dtype=np.int64)


_tree_down, _tree_up = _down(binomial_parents), _up(binomial_parents)
_binary_down, _binary_up = _down(_binary_parents), _up(_binary_parents)
_chain_down, _chain_up = _down(_chain_parents), _up(_chain_parents)
_from_root, _to_root = _down(_root), _up(_root)
_tree_up_and_down = _in_turn(_tree_up, _tree_down)
_to_root_and_back = _in_turn(_to_root, _from_root)


def _scatter(ranks: int, size: float) -> CallTraffic:
    return to_children(ranks, binomial_parents(ranks), size * binomial_subtrees(ranks))


def _gather(ranks: int, size: float) -> CallTraffic:
    return to_parents(ranks, binomial_parents(ranks), size * binomial_subtrees(ranks))


def _ring_reduction(ranks: int, size: float) -> CallTraffic:
    return along_ring(ranks, 2 * (ranks - 1) * size / ranks)


def _ring_reduce_scatter(ranks: int, size: float) -> CallTraffic:
    return along_ring(ranks, (ranks - 1) * size / ranks)


def _ring_gather(ranks: int, size: float) -> CallTraffic:
    return along_ring(ranks, (ranks - 1) * size)


_scatter_then_doubling = _in_turn(_scatter, _gather_doubling, with_parts=True)
_scatter_then_ring = _in_turn(_scatter, _ring_gather, with_parts=True)


def _halving_then_gather(ranks: int, size: float) -> CallTraffic:
    return joined((_halving(ranks, size), _gather(ranks, size / ranks)))


def _distances(ranks: int) -> range:
    return range(ceil(log2(ranks)))


def _gather_bruck(ranks: int, size: float) -> CallTraffic:
    numbers = np.arange(ranks)
    return joined(
        [
            messages(numbers, (numbers - 2**step) % ranks, size * min(2**step, ranks - 2**step))
            for step in _distances(ranks)
        ]
    )


def _all_bruck(ranks: int, size: float) -> CallTraffic:
    """Step k: send the blocks whose number has bit k set."""
    numbers = np.arange(ranks)
    counts = [int((numbers >> step & 1).sum()) for step in _distances(ranks)]
    return joined(
        [
            messages(numbers, (numbers + 2**step) % ranks, size / ranks * count)
            for step, count in enumerate(counts)
        ]
    )


def _dissemination(ranks: int, size: float) -> CallTraffic:
    numbers = np.arange(ranks)
    return joined([messages(numbers, (numbers + 2**step) % ranks, size) for step in _distances(ranks)])


def _neighbours(ranks: int, size: float) -> CallTraffic:
    """Exchange own parts with one neighbour, then two parts in turn with both."""
    numbers = np.arange(ranks)
    right = numbers % 2 == 0
    first = np.where(right, numbers + 1, numbers - 1) % ranks
    other = np.where(right, numbers - 1, numbers + 1) % ranks
    later = max(ranks // 2 - 1, 0)
    sent_first, sent_second = size + 2 * size * (later // 2), 2 * size * (later - later // 2)
    return joined((messages(numbers, first, sent_first), messages(numbers, other, sent_second)))


def _to_all(ranks: int, size: float) -> CallTraffic:
    """All-to-all in which each block is sent directly to its rank."""
    return all_pairs(ranks, size / ranks)


def _bine_partners(ranks: int, step: int) -> Numbers:
    """Return the partner of each rank, 1, 1, 3, 5, 11, … away; even and odd ranks go opposite ways."""
    numbers, distance = np.arange(ranks), (1 - (-2) ** (step + 1)) // 3
    partners: Numbers = (numbers + np.where(numbers % 2, -distance, distance)) % ranks
    return partners


def _bine_parents(ranks: int) -> Numbers:
    """Return the parent of each rank in a tree with the farthest partners first; binomial for other sizes."""
    if not is_power_of_two(ranks):
        return binomial_parents(ranks)
    parents, reached = np.zeros(ranks, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for step in reversed(range(_steps(ranks))):
        children = _bine_partners(ranks, step)[reached]
        parents[children] = reached
        reached = np.concatenate((reached, children))
    return parents


def _over_bine(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm of exchanges over distances 1, 2, 4, … with the partners of Bine."""

    def renumbered(ranks: int, size: float) -> CallTraffic:
        traffic = algorithm(ranks, size)
        if not is_power_of_two(ranks):
            return traffic
        steps = np.log2(np.bitwise_xor(traffic.sources, traffic.targets)).astype(np.int64)
        targets = np.array([_bine_partners(ranks, step) for step in range(_steps(ranks))])
        return CallTraffic(traffic.sources, targets[steps, traffic.sources], traffic.bytes)

    return renumbered


def _spread(ranks: int, size: float) -> CallTraffic:
    """Send one block of every rank to every other rank: a gather without forwarding."""
    return all_pairs(ranks, size)


_ALLREDUCE: dict[str, Algorithm] = {
    "recursive_doubling": _doubling, "recexch": _doubling, "recursive_multiplying": _doubling,
    "reduce_scatter_allgather": _halving_and_doubling, "k_reduce_scatter_allgather": _halving_and_doubling,
    "rabenseifner": _halving_and_doubling, "swing": _over_bine(_halving_and_doubling),
    "bine": _over_bine(_halving_and_doubling), "bine_doubling": _over_bine(_doubling),
    "ring": _ring_reduction, "segmented_ring": _ring_reduction,
    "tree": _tree_up_and_down, "nonoverlapping": _tree_up_and_down, "basic_linear": _to_root_and_back,
    "allgather_reduce": _spread, "direct": _spread, "knomial": _tree_up_and_down,
    "reduce_bcast": _tree_up_and_down, "binomial_gather_scatter": _tree_up_and_down,
    "shumilin_ring": _ring_reduction,
}  # fmt: skip
_BCAST: dict[str, Algorithm] = {
    "binomial": _tree_down, "tree": _tree_down, "knomial": _tree_down, "pipelined_tree": _tree_down,
    "scatter_recursive_doubling_allgather": _scatter_then_doubling,
    "scatter_allgather": _scatter_then_doubling,
    "scatter_ring_allgather": _scatter_then_ring, "scatter_allgather_ring": _scatter_then_ring,
    "chain": _chain_down, "pipeline": _chain_down, "binary_tree": _binary_down,
    "split_binary_tree": _binary_down, "double_tree": _binary_down, "basic_linear": _from_root,
    "direct": _from_root, "shumilin": _chain_down, "bine": _down(_bine_parents),
}  # fmt: skip
_REDUCE: dict[str, Algorithm] = {
    "binomial": _tree_up, "tree": _tree_up, "knomial": _tree_up, "chain": _chain_up, "pipeline": _chain_up,
    "shumilin": _chain_up, "binary": _binary_up, "in_order_binary": _binary_up, "binary_tree": _binary_up,
    "linear": _to_root, "bine": _up(_bine_parents),
    "rabenseifner": _halving_then_gather, "reduce_scatter_gather": _halving_then_gather,
}  # fmt: skip
_ALLGATHER: dict[str, Algorithm] = {
    "ring": _ring_gather, "brucks": _gather_bruck, "bruck": _gather_bruck, "k_brucks": _gather_bruck,
    "recursive_doubling": _gather_doubling, "recexch_doubling": _gather_doubling,
    "recexch_halving": _gather_doubling, "recursive_multiplying": _gather_doubling,
    "neighbor": _neighbours, "neighbour_exchange": _neighbours, "linear": _spread, "default": _spread,
    "direct": _spread,
}  # fmt: skip
_ALLTOALL: dict[str, Algorithm] = {
    "brucks": _all_bruck, "bruck": _all_bruck, "k_brucks": _all_bruck, "modified_bruck": _all_bruck,
    "pairwise": _to_all, "scattered": _to_all, "isend_irecv": _to_all, "plum": _to_all,
    "linear": _to_all, "linear_sync": _to_all,
    "basic_linear": _to_all, "blocked": _to_all, "direct": _to_all,
}  # fmt: skip
_REDUCE_SCATTER: dict[str, Algorithm] = {
    "recursive_halving": _halving, "recursive_doubling": _doubling, "butterfly": _halving,
    "recursive_multiplying": _halving, "ring": _ring_reduce_scatter, "pairwise": _to_all,
    "noncommutative": _doubling, "linear": _to_root_and_back, "basic_linear": _to_root_and_back,
}  # fmt: skip
_LINEAR_GATHER = ("linear", "basic_linear", "linear_sync", "linear_nb")
_SCAN: dict[str, Algorithm] = {
    "linear": _chain_down,
    "recursive_doubling": _doubling,
    "partial_results": _doubling,
}
_BARRIER: dict[str, Algorithm] = {
    "linear": _to_root_and_back, "double_ring": along_ring, "recursive_doubling": _doubling,
    "bruck": _dissemination, "dissemination": _dissemination, "k_dissemination": _dissemination,
    "tree": _tree_up_and_down, "recexch": _doubling, "binomial": _tree_up_and_down,
}  # fmt: skip

ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "allreduce": _ALLREDUCE,
    "bcast": _BCAST,
    "reduce": _REDUCE,
    "allgather": _ALLGATHER,
    "allgatherv": _ALLGATHER,
    "alltoall": _ALLTOALL,
    "alltoallv": _ALLTOALL,
    "alltoallw": _ALLTOALL,
    "reduce_scatter": _REDUCE_SCATTER,
    "reduce_scatter_block": _REDUCE_SCATTER,
    "gather": {"binomial": _gather, "knomial": _gather, **dict.fromkeys(_LINEAR_GATHER, _to_root)},
    "gatherv": dict.fromkeys(_LINEAR_GATHER, _to_root),
    "scatter": {"binomial": _scatter, "knomial": _scatter, **dict.fromkeys(_LINEAR_GATHER, _from_root)},
    "scatterv": dict.fromkeys(_LINEAR_GATHER, _from_root),
    "scan": _SCAN,
    "exscan": _SCAN,
    "barrier": _BARRIER,
}

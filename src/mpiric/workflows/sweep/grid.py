"""Sizes at which calls are measured: the requested sizes, or the sizes of a recorded program."""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from mpiric.model.policy import UNSIZED
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.tuning.policy.sampling import Subject
from mpiric.workflows.sweep.request import COLLECTIVES

# Collectives whose size in a record is the sum of all blocks
_HANDED_OVER_WHOLE = ("alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block")
# Collectives in which a rank holds a block for each rank
_IN_BLOCKS = (*_HANDED_OVER_WHOLE, "allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv")
_MOST_BYTES = 64 << 20  # size of all blocks together; a rank of the probe needs up to twice that
_ANY_SIZES = (64, 4096, 262144)  # sizes of calls whose size is unknown
_MOST_SIZES = 5  # number of sizes where a policy has one choice for all: all of them are measured


def in_blocks(collective: str) -> bool:
    """Return whether a rank has a block for or from each rank."""
    return collective.removeprefix("i") in _IN_BLOCKS


def grid_sizes(subject: Subject, requested: Collection[int]) -> tuple[int, ...]:
    """Return the sizes at which calls are measured, ascending; none if they need too much memory."""
    if requested and subject.collective in UNSIZED and not subject.has_one_choice:
        return (0,)
    sizes = set(requested)
    if subject.has_one_choice and sizes:
        sizes = {size for size in sizes if size} or set(_ANY_SIZES)
    if in_blocks(subject.collective):
        sizes = {size for size in sizes if size * subject.shape.ranks <= _MOST_BYTES}
    return _spread(tuple(sorted(sizes))) if subject.has_one_choice else tuple(sorted(sizes))


def _spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the smallest, the largest and a few sizes evenly between them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return tuple(sizes[at * (len(sizes) - 1) // (_MOST_SIZES - 1)] for at in range(_MOST_SIZES))


def calls_of(place: Path) -> dict[tuple[str, int], set[int]]:
    """Return the sizes of recorded calls by collective and ranks: both ends of each bin of sizes.

    A record has the bytes that a rank passes in one call; a policy has the block of one rank.
    """
    used: dict[tuple[str, int], set[int]] = defaultdict(set)
    for rank in read_record(place).ranks:
        for cell in rank.cells:
            collective = cell.function.removeprefix("MPI_").removesuffix("_c").lower()
            if collective in COLLECTIVES and cell.communicator is not None:
                low, high = bin_bounds(cell.size_bin)
                ranks = rank.communicators[cell.communicator].size
                parts = ranks if collective.removeprefix("i") in _HANDED_OVER_WHOLE else 1
                used[collective, ranks] |= {max(low // parts, 4), max((high + 1) // parts, 4)}
    return dict(used)

"""The sizes at which calls are measured: those requested, or those of a recorded program."""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

from mpiric.model.policy import UNSIZED
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.tuning.policy.sampling import Subject
from mpiric.workflows.sweep.request import COLLECTIVES

# Blocks of all ranks together in a record
_HANDED_OVER_WHOLE = ("alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block")
# Of these a rank holds a block for each
_IN_BLOCKS = (*_HANDED_OVER_WHOLE, "allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv")
_MOST_BYTES = 64 << 20  # of all blocks together; a rank of the probe has up to twice that
_ANY_SIZES = (64, 4096, 262144)  # of calls whose size nobody knows
_MOST_SIZES = 5  # of calls whose size a policy does not tell apart: all of them are measured


def in_blocks(collective: str) -> bool:
    """Whether a rank has a block for each of the others, or of each."""
    return collective.removeprefix("i") in _IN_BLOCKS


def grid_sizes(subject: Subject, given: Collection[int]) -> tuple[int, ...]:
    """The sizes at which calls are measured, ascending; none where no rank has room for them."""
    if given and subject.collective in UNSIZED and not subject.has_one_choice:
        return (0,)
    sizes = set(given)
    if subject.has_one_choice and sizes:
        sizes = {size for size in sizes if size} or set(_ANY_SIZES)
    if in_blocks(subject.collective):
        sizes = {size for size in sizes if size * subject.shape.ranks <= _MOST_BYTES}
    return _spread(tuple(sorted(sizes))) if subject.has_one_choice else tuple(sorted(sizes))


def _spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The least, the largest and a few evenly between them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return tuple(sizes[at * (len(sizes) - 1) // (_MOST_SIZES - 1)] for at in range(_MOST_SIZES))


def calls_of(place: Path) -> dict[tuple[str, int], set[int]]:
    """Collective and ranks → sizes, from what a recorded program called; both ends of each bin of sizes.

    A record has what a rank hands over in one call; a policy means the block of one rank.
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

"""Calls whose sizes a policy cannot tell apart: one choice must serve them all.

No rank of an alltoallv, gatherv or scatterv knows what the others send, so a policy has one candidate for
all sizes. It is measured at several sizes of even blocks; who is slower than the library at one of them is
out, because a program may make just that call. Of the rest the geometric mean over the sizes counts.
"""

from collections.abc import Collection, Mapping
from statistics import geometric_mean

from mpiric.model.policy import LIBRARY, Measured

NOISE = 0.03  # differences below this are none
_TINY_S = 1e-12

BySize = Mapping[int, Mapping[str, Measured]]  # size → candidate → times


def is_slower(each: Measured, own: Measured) -> bool:
    """Whether a candidate loses against the library by more than noise."""
    return each.median_s > own.median_s * (1 + NOISE)


def nowhere_slower(by_size: BySize, sizes: Collection[int]) -> dict[str, Measured]:
    """The library and who keeps up with it at all of these sizes, with times that stand for all of them.

    Empty where the library was not measured at each.
    """
    if not sizes or any(LIBRARY not in by_size.get(size, ()) for size in sizes):
        return {}
    names = set.intersection(*(set(by_size[size]) for size in sizes))
    kept = [
        name
        for name in names
        if not any(is_slower(by_size[size][name], by_size[size][LIBRARY]) for size in sizes)
    ]
    return {name: over_sizes([by_size[size][name] for size in sizes]) for name in sorted(kept)}


def over_sizes(several: Collection[Measured]) -> Measured:
    """Geometric means of one candidate's times, each size weighing the same."""

    def mean(times: list[float]) -> float:
        return geometric_mean(max(time, _TINY_S) for time in times)

    (name,) = {each.name for each in several}
    middle = mean([each.median_s for each in several])
    return Measured(
        name,
        sum(each.calls for each in several),
        middle,
        min(middle, mean([each.low_s for each in several])),
        max(middle, mean([each.high_s for each in several])),
    )

"""A block of runs in random order: one configuration is faster if all its runs are, with a gap.

The test. A block holds n runs of the original and n of the answer, in uniformly random order. If the two are
identical, each of the C(2n, n) ways to label the runs is equally likely, however the machine drifts during
the block. The chance that all originals are slower than all runs of the answer is then 1 / C(2n, n), so that
a bet of C(2n, n) on this event has mean 1. Pairs of the same runs give 2^n at most: six pairs in a block say
as much as nine pairs one after the other.

The gap. Two configurations of equal medians can differ in scatter alone. All runs of the one with the larger
scatter are on the same side of the other one in 2^(1 - n) of the blocks. Therefore the gap between the two
groups has to be larger than the range of either group, which makes this 50 times rarer and never makes the
first error more frequent.

The mixture. `SHARE` of the wealth is bet on the block, the rest on the pairs (`confidence_sequence`): the sum
of both is a non-negative supermartingale, too.

Sources: Fisher 1935 (The Design of Experiments, ch. 2); Shafer, J. R. Stat. Soc. A 184 (2021) 407.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb, exp, inf

from mpiric.statistics import confidence_sequence
from mpiric.statistics.confidence_sequence import Bounds

SHARE = 0.2  # share of the wealth that is bet on the block


def decides(pairs: int, error: float) -> bool:
    """Return whether a separated block with this number of pairs rules a value out at two-sided ``error``."""
    of_pairs = exp(confidence_sequence.log_wealth(pairs, pairs))
    return SHARE * comb(2 * pairs, pairs) + (1 - SHARE) * of_pairs >= 2 / error


@lru_cache(maxsize=256)
def block_pairs(error: float) -> int:
    """Return the smallest number of pairs of a block that decides at two-sided ``error``."""
    pairs = 1
    while not decides(pairs, error):
        pairs += 1
    return pairs


def separation(originals: Sequence[Bounds], answers: Sequence[Bounds]) -> Bounds:
    """Return the ratios original ÷ answer between which no gap separates the groups.

    Each run has a lower and an upper bound, which differ if it was stopped. Stopped runs do not count for the
    range of their group.
    """
    width = max(_range(originals), _range(answers))
    slowest, fastest = max(high for _, high in answers), min(low for low, _ in answers)
    low = min(low for low, _ in originals) / slowest / width
    return low, max(high for _, high in originals) / fastest * width


def _range(group: Sequence[Bounds]) -> float:
    exact = [low for low, high in group if low == high < inf]
    return max(exact) / min(exact) if exact else 1.0

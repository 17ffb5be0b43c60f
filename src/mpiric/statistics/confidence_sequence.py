"""Confidence sequence for the median of paired ratios: distribution-free, valid at any stopping time.

Construction. Let R₁, R₂, … be the ratios original ÷ candidate of fresh pairs and m their median, so that
P(R > m | past) ≤ ½ and P(R < m | past) ≤ ½. A gambler who bets on "R > m" with every stake p ≥ ½ multiplies
the wealth by 2p when R > m and by 2(1 − p) otherwise. The mean of these factors is at most 1, so the wealth
is a non-negative supermartingale, and so is any fixed mixture over p. By Ville's inequality the wealth ever
reaches 1/e with probability at most e. A value θ is ruled out as the median once the wealth against it has
reached 1/e. As the wealth grows with the number of ratios above θ, the remaining values form an interval
between two order statistics. The same bet downwards gives the other end, each with half of the error.

Assumptions: none about the shape of the noise (heavy tails, bimodal times, coarse clocks). Ties count for
neither side, which only widens the interval. For two identical configurations run in random order
P(R > 1 | past) ≤ ½ holds exactly, with or without drift, because original and candidate are exchangeable in a
pair.

Cost: about 1.6 times the pairs of a t-test under exactly normal noise.

The weights of the mixture are chosen so that nine pairs that all agree decide at 99 % two-sided
(2/0.01 = 200), one dissenting pair costs about five more, and a 60 : 40 majority is detected later.

Sources: Ville 1939; Robbins 1970 (Ann. Math. Stat. 41:1397, mixtures of martingales); Howard and Ramdas 2022
(Bernoulli 28:1704, quantile confidence sequences); Waudby-Smith and Ramdas 2024 (JRSS B 86:1, betting).

Separated blocks. One configuration is faster if all its runs of a block in random order are, with a gap.

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
from math import comb, exp, inf, log
from statistics import median

# (p, weight): the gambler's guesses of P(R > m), and the share of the wealth that is bet on each.
BETS = ((1.0, 0.25), (0.95, 0.20), (0.9, 0.20), (0.8, 0.15), (0.7, 0.10), (0.6, 0.07), (0.55, 0.03))


Bounds = tuple[float, float]  # bounds of an objective or a ratio; equal unless a run was stopped


def log_wealth(wins: int, pairs: int) -> float:
    """Return the logarithm of the wealth after ``wins`` of ``pairs`` bets were won."""
    losses = pairs - wins
    terms = [
        log(weight) + wins * log(2 * p) + (losses * log(2 * (1 - p)) if losses else 0.0)
        for p, weight in BETS
        if p < 1 or not losses
    ]
    largest = max(terms)
    return largest + log(sum(exp(term - largest) for term in terms))


@lru_cache(maxsize=4096)
def wins_needed(pairs: int, error: float) -> int | None:
    """Return the fewest wins that rule a value out at one-sided ``error``; None if ``pairs`` are too few."""
    goal = -log(error)
    if pairs == 0 or log_wealth(pairs, pairs) < goal:
        return None
    low, high = pairs // 2, pairs  # the wealth grows with the wins: bisection
    while low < high:
        middle = (low + high) // 2
        if log_wealth(middle, pairs) >= goal:
            high = middle
        else:
            low = middle + 1
    return low


def fewest_pairs(error: float) -> int:
    """Return the number of pairs that decide at two-sided ``error`` if all agree."""
    pairs = 1
    while wins_needed(pairs, error / 2) is None:
        pairs += 1
    return pairs


def median_interval(ratios: Sequence[float], error: float) -> tuple[float, float]:
    """Return the interval of the median with two-sided ``error``, valid at any stopping time.

    (0, inf) for too few ratios.
    """
    needed = wins_needed(len(ratios), error / 2)
    if needed is None:
        return 0.0, inf
    ordered = sorted(ratios)
    return ordered[-needed], ordered[needed - 1]


def interval_of_bounds(ratios: Sequence[Bounds], error: float) -> tuple[float, float]:
    """Return the interval of the median for ratios known by bounds.

    The lower bounds give the lower end, the upper bounds the upper end. An unknown sign counts as a loss. The
    wealth grows with the wins at a fixed number of pairs, so that stopping a run never increases it.
    """
    low, _ = median_interval([low for low, _ in ratios], error)
    _, high = median_interval([high for _, high in ratios], error)
    return low, high


def centre(ratios: Sequence[float]) -> float:
    """Return the median, 1 without pairs."""
    return float(median(ratios)) if ratios else 1.0


SHARE = 0.2  # share of the wealth that is bet on the block


def decides(pairs: int, error: float) -> bool:
    """Return whether a separated block with this number of pairs rules a value out at two-sided ``error``."""
    of_pairs = exp(log_wealth(pairs, pairs))
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

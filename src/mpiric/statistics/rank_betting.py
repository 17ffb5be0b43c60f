"""Contribution of a setting, by the rank of a run without it among runs of the answer.

The interval is valid at any stopping time.

Construction. A block holds, in uniformly random order, m runs of the answer A and one of the answer without
a setting, L. If that setting has no effect, each of the m + 1 runs is equally likely to be the slowest, the
second slowest and so on, whatever drifts during the block, because the order is independent of it. The number
r of runs of A that are faster than L is then uniform on 0 … m (less if runs tie), and any q(r) with sum 1
that never falls as r grows gives a bet (m + 1) q(r) whose mean is 1, and at most 1 if the setting does harm.
The product over blocks, the wealth, is a non-negative supermartingale, as is any fixed mixture of such
products; by Ville's inequality the probability that it ever reaches 1/α is at most α.

Example. m = 1 and p = 0.9: a block in which L is the slower of its two runs multiplies the wealth by 1.8, any
other block by 0.2. Eight blocks of the first kind give 1.8^8 = 110, which happens with a probability of at
most 1/110 if the setting has no effect.

The bets. Lehmann's alternatives: with "L is the slowest of k runs of A", r is beta-binomial with parameters
k and 1, and L is slower than a run of A with probability p = k / (k + 1). The p and their weights are the
same as in `confidence_sequence`, and with m = 1 the bet is the same, 2p or 2(1 - p).

The interval. For "without it the program takes θ times as long" the same bets are made on L / θ. Values of
θ whose wealth has reached 1/α are ruled out. As r falls when θ grows, the remaining ones are bounded by
quotients L / A. The other end comes from betting that L is faster.

Quotients may be known by bounds (a run that was stopped): their lower bounds give the lower end, their upper
bounds the upper end. With a lower bound of L / A, the rank r can only be too low, which never raises the
wealth of the bet that L is slower, so that the interval stays valid.

Sources: Ville 1939; Lehmann, Ann. Math. Stat. 24 (1953) 23 (power of rank tests); Shafer, J. R. Stat. Soc.
A 184 (2021) 407 (testing by betting); Ramdas, Grünwald, Vovk, Shafer, Stat. Sci. 38 (2023) 576
(e-processes).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from math import comb, exp, inf, isfinite, lgamma, log, sqrt
from statistics import median

from mpiric.statistics.confidence_sequence import BETS, Bounds

# Quotients L ÷ A of a run without the setting and each run of the answer in its round.
Block = Sequence[Bounds]


@lru_cache(maxsize=65536)
def _log_bet(rank: int, m: int, p: float) -> float:
    """Return log((m + 1) q(rank)) for the guess that L is slower than a run of A with probability p."""
    if p == 1:
        return log(m + 1) if rank == m else -inf
    k = p / (1 - p)
    beta = lgamma(rank + k) + lgamma(m - rank + 1) - lgamma(m + k + 1)
    return log(m + 1) + log(comb(m, rank)) + log(k) + beta


def log_wealth(ranks: Sequence[tuple[int, int]]) -> float:
    """Return the logarithm of the wealth after blocks of (rank r, runs of the answer m)."""
    terms = [log(weight) + sum(_log_bet(rank, m, p) for rank, m in ranks) for p, weight in BETS]
    largest = max(terms)
    return largest + log(sum(exp(term - largest) for term in terms)) if isfinite(largest) else -inf


def score(ranks: Sequence[tuple[int, int]]) -> float:
    """Return the rank sum over blocks of (rank r, runs of the answer m), standardised under no effect.

    The weight of a block is inversely proportional to the variance of its r / m.
    """
    weights = [12 * m / (m + 2) for _, m in ranks]
    total = sum(weight * (rank / m - 0.5) for weight, (rank, m) in zip(weights, ranks, strict=True))
    return total / sqrt(sum(weights)) if weights else 0.0


def share_interval(blocks: Sequence[Block], error: float) -> tuple[float, float]:
    """Return the interval of the median quotient; each end is wrong with probability at most ``error``.

    Valid at any stopping time. (0, inf) for too few blocks.
    """
    goal = -log(error)

    # Ranks of L ÷ θ among the runs of A for θ just below, or just above, the value.
    def rules_out_below(value: float) -> bool:
        return log_wealth([(sum(low >= value for low, _ in block), len(block)) for block in blocks]) >= goal

    def rules_out_above(value: float) -> bool:
        return log_wealth([(sum(high <= value for _, high in block), len(block)) for block in blocks]) >= goal

    lows = sorted({low for low, _ in chain.from_iterable(blocks) if low > 0})
    highs = sorted({high for _, high in chain.from_iterable(blocks) if isfinite(high)}, reverse=True)
    low, high = _last(lows, rules_out_below), _last(highs, rules_out_above)
    return (0.0 if low is None else low), (inf if high is None else high)


def _last(values: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the last value for which a predicate holds that holds for a prefix of the values."""
    first, end = 0, len(values)
    while first < end:
        middle = (first + end) // 2
        if holds(values[middle]):
            first = middle + 1
        else:
            end = middle
    return values[first - 1] if first else None


def centre(blocks: Sequence[Block]) -> float:
    """Return the median of all quotients within blocks (Hodges and Lehmann 1963), 1 without blocks."""
    quotients = [low if low > 0 else high for low, high in chain.from_iterable(blocks)]
    return float(median(quotients)) if quotients else 1.0

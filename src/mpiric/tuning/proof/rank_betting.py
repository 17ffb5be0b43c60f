"""What a setting is worth, by the rank of a run without it among runs of the answer, valid at every look.

Construction. A block holds, in uniformly random order, m runs of the answer A and one of the answer without
a setting, L. Where that setting does nothing, each of the m + 1 runs is equally likely to be the slowest,
the second slowest and so on, whatever drifts or bursts during the block: its order does not depend on that.
The number r of runs of A that are faster than L is then uniform on 0 … m (less where runs tie), and any
q(r) with sum 1 that never falls as r grows gives a bet (m + 1) q(r) whose mean is 1, and at most 1 where
the setting does harm. The product over blocks is a non-negative supermartingale, as is any fixed mixture of
such products; by Ville's inequality it ever reaches 1/e with probability e at most.

The bets. Lehmann's alternatives: with "L is the slowest of k runs of A", r is beta-binomial with parameters
k and 1, and L is slower than a run of A with probability p = k / (k + 1). The p and their weights are those
of `confidence_sequence`, and with m = 1 the bet is the same, 2p or 2(1 - p).

The interval. For "without it the program takes θ times as long" the same bets are made on L / θ. Values of
θ whose wealth has reached 1/e are ruled out; as r falls when θ grows, what is left is bounded by quotients
L / A. The other end comes from betting that L is faster.

Quotients may be known as intervals (a run that was stopped): the lower end is taken of their lower ends,
the upper of their upper ends. A rank that is too low never raises the wealth, so that stays valid.

Sources: Ville 1939; Lehmann, Ann. Math. Stat. 24 (1953) 23 (power of rank tests); Shafer, J. R. Stat. Soc.
A 184 (2021) 407 (testing by betting); Ramdas, Grünwald, Vovk, Shafer, Stat. Sci. 38 (2023) 576
(e-processes).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from math import comb, exp, inf, isfinite, lgamma, log, sqrt
from statistics import median

from mpiric.tuning.proof.confidence_sequence import BETS, Known

Block = Sequence[Known]  # quotients L ÷ A of one run without the setting and each run of the answer beside it


@lru_cache(maxsize=65536)
def _log_bet(rank: int, others: int, p: float) -> float:
    """Logarithm of (m + 1) q(r) for the guess that L is slower than a run of A with probability p."""
    if p == 1:
        return log(others + 1) if rank == others else -inf
    k = p / (1 - p)
    beta = lgamma(rank + k) + lgamma(others - rank + 1) - lgamma(others + k + 1)
    return log(others + 1) + log(comb(others, rank)) + log(k) + beta


def log_wealth(ranks: Sequence[tuple[int, int]]) -> float:
    """Logarithm of the wealth after blocks of (rank r, runs of the answer m)."""
    terms = [log(weight) + sum(_log_bet(rank, m, p) for rank, m in ranks) for p, weight in BETS]
    largest = max(terms)
    return largest + log(sum(exp(term - largest) for term in terms)) if isfinite(largest) else -inf


def score(ranks: Sequence[tuple[int, int]]) -> float:
    """Sum over blocks of (rank r, runs of the answer m), in standard deviations from that of no effect.

    Each block counts in inverse proportion to the variance of its r / m.
    """
    weights = [12 * m / (m + 2) for _, m in ranks]
    total = sum(weight * (rank / m - 0.5) for weight, (rank, m) in zip(weights, ranks, strict=True))
    return total / sqrt(sum(weights)) if weights else 0.0


def share_interval(blocks: Sequence[Block], error: float) -> tuple[float, float]:
    """Interval of the median quotient; each end is wrong with probability ``error``, whenever one stops.

    (0, inf) while there are too few blocks to say anything.
    """
    goal = -log(error)

    def rules_out(value: float, *, from_below: bool) -> bool:
        return (
            log_wealth([(_rank(block, value, from_below=from_below), len(block)) for block in blocks]) >= goal
        )

    lows = sorted({low for low, _ in chain.from_iterable(blocks) if low > 0})
    highs = sorted({high for _, high in chain.from_iterable(blocks) if isfinite(high)}, reverse=True)
    low = _last(lows, lambda value: rules_out(value, from_below=True))
    high = _last(highs, lambda value: rules_out(value, from_below=False))
    return (0.0 if low is None else low), (inf if high is None else high)


def _rank(block: Block, value: float, *, from_below: bool) -> int:
    """Runs of A that L ÷ θ is slower (faster) than, for θ just below (above) ``value``."""
    return sum(low >= value for low, _ in block) if from_below else sum(high <= value for _, high in block)


def _last(values: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """The last of the values for which it holds; it holds for a first part of them."""
    first, end = 0, len(values)
    while first < end:
        middle = (first + end) // 2
        if holds(values[middle]):
            first = middle + 1
        else:
            end = middle
    return values[first - 1] if first else None


def centre(blocks: Sequence[Block]) -> float:
    """Median of all quotients within blocks (Hodges and Lehmann 1963), 1 when there are none."""
    quotients = [low if low > 0 else high for low, high in chain.from_iterable(blocks)]
    return float(median(quotients)) if quotients else 1.0

"""Rule that decides which nodes are slower than their peers, from repeated measurements on each node.

A node is compared with the median of the other nodes in units of a scale that outliers do not move: the
median absolute deviation (the identifier of Hampel; Davies and Gather, The identification of multiple
outliers, JASA 88, 1993). The limit is the quantile of the normal distribution at which a run on equal nodes
raises a false alarm with the stated probability, over all its nodes and quantities (Bonferroni).
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log, pi, sqrt
from statistics import NormalDist, median

from mpiric.model.dataclass import dataclass

FALSE_ALARMS = 0.01  # probability that a comparison of equal nodes names one of them
LEAST = 0.03  # smallest slowdown that is reported
_TO_SIGMA = 1.4826  # standard deviations per median absolute deviation of normal values
_OF_A_MEDIAN = pi / 2  # variance of a median divided by the variance of a mean
_ALIKE = 0.01  # standard deviation between healthy nodes of one kind: chips differ
_MANY = 100  # nodes of which one changes the median of all others by too little to matter
_OF_THE_DEVIATION = 0.37  # efficiency of the median absolute deviation


@dataclass(frozen=True)
class Slowdown:
    """A node that takes longer than its peers; shares of their time, with a 95 % interval."""

    node: str
    share: float
    low: float
    high: float


def slow_nodes(times: Mapping[str, Sequence[float]], comparisons: int = 1) -> tuple[Slowdown, ...]:
    """Return the slow nodes, slowest first; ``times`` are positive repeated measurements of each node.

    The probability of false alarms applies to ``comparisons`` quantities together. The standard deviation of
    a node is the larger of two: between its repeated measurements, and between the nodes. Nothing is returned
    if half of the nodes or more would be slow.
    """
    logs = {node: [log(value) for value in values] for node, values in times.items() if values}
    if len(logs) < 2:
        return ()
    centres = {node: median(values) for node, values in logs.items()}
    pooled = _deviation(logs.values())
    freedom = _OF_THE_DEVIATION * sum(len(values) - 1 for values in logs.values())
    limit = NormalDist().inv_cdf(1 - FALSE_ALARMS / comparisons / len(logs))
    z, n = limit, max(freedom, 1.0)
    uncertain = (
        z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n * n)
    ) / limit  # the deviation itself is known from a few values only
    everyone = _middle(list(centres.values())) if len(centres) > _MANY else None
    slow = []
    for node, centre in centres.items():
        peers = everyone or _middle([other for name, other in centres.items() if name != node])
        repeated = max(pooled, _deviation([logs[node]]) / 2)  # few values: its own counts if it is far larger
        within = _OF_A_MEDIAN * (repeated * uncertain) ** 2 / len(logs[node])
        middle, between = peers
        sigma = sqrt(max(within + _ALIKE**2, between**2) * (1 + _OF_A_MEDIAN / (len(centres) - 1)))
        effect = centre - middle
        if effect > limit * sigma and exp(effect) - 1 >= LEAST:
            ends = (exp(effect - 1.96 * sigma) - 1, exp(effect + 1.96 * sigma) - 1)
            slow.append(Slowdown(node, exp(effect) - 1, *ends))
    if len(slow) > max(1, (len(logs) - 1) // 2):
        return ()  # the median cannot tell which half is slow
    return tuple(sorted(slow, key=lambda entry: -entry.share))


def _middle(centres: Sequence[float]) -> tuple[float, float]:
    """Return the median of nodes and the standard deviation between them."""
    middle = median(centres)
    return middle, _TO_SIGMA * median(abs(centre - middle) for centre in centres)


def _deviation(groups: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation within groups, from the median distance to the median of each."""
    several = [(values, median(values)) for values in groups if len(values) > 1]
    distances = [abs(value - middle) for values, middle in several for value in values]
    return _TO_SIGMA * median(distances) if distances else 0.0

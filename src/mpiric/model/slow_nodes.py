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
    """Time of a node relative to its peers: shares of their time, with a 95 % interval."""

    node: str
    share: float
    low: float
    high: float
    is_beyond_noise: bool = True  # holds wrongly with the stated probability of false alarms


class _Comparison:
    """Logarithms of the times of all nodes, and the standard deviations between and within nodes."""

    def __init__(self, times: Mapping[str, Sequence[float]], comparisons: int, named: int) -> None:
        self.logs = {node: [log(value) for value in values] for node, values in times.items() if values}
        self._centres = {node: median(values) for node, values in self.logs.items()}
        self._pooled = _deviation(self.logs.values())
        freedom = _OF_THE_DEVIATION * sum(len(values) - 1 for values in self.logs.values())
        self._limit = NormalDist().inv_cdf(1 - FALSE_ALARMS / comparisons / named)
        # The deviation itself is known from a few values only.
        self._uncertain = _student(self._limit, freedom) / self._limit
        many = len(self._centres) > _MANY
        self._everyone = _middle(list(self._centres.values())) if many else None

    def slowdown(self, node: str) -> Slowdown:
        """Compare a node with the median of the others."""
        centres, values = self._centres, self.logs[node]
        peers = [other for name, other in centres.items() if name != node] if not self._everyone else []
        middle, between = self._everyone or _middle(peers)
        # A node with few values: its own deviation counts if it is far larger.
        repeated = max(self._pooled, _deviation([values]) / 2)
        within = _OF_A_MEDIAN * (repeated * self._uncertain) ** 2 / len(values)
        sigma = sqrt(max(within + _ALIKE**2, between**2) * (1 + _OF_A_MEDIAN / (len(centres) - 1)))
        effect = centres[node] - middle
        share, low, high = (exp(effect + side * 1.96 * sigma) - 1 for side in (0, -1, 1))
        return Slowdown(node, share, low, high, effect > self._limit * sigma)


def slow_nodes(times: Mapping[str, Sequence[float]], comparisons: int = 1) -> tuple[Slowdown, ...]:
    """Return the slow nodes, slowest first; ``times`` are positive repeated measurements of each node.

    The probability of false alarms applies to ``comparisons`` quantities together. The standard deviation of
    a node is the larger of two: between its repeated measurements, and between the nodes. Nothing is returned
    if half of the nodes or more would be slow.
    """
    count = sum(map(bool, times.values()))
    if count < 2:
        return ()
    comparison = _Comparison(times, comparisons, named=count)
    slowdowns = map(comparison.slowdown, comparison.logs)
    slow = [entry for entry in slowdowns if entry.is_beyond_noise and entry.share >= LEAST]
    if len(slow) > max(1, (count - 1) // 2):
        return ()  # the median cannot tell which half is slow
    return tuple(sorted(slow, key=lambda entry: -entry.share))


def slowdown_of(node: str, times: Mapping[str, Sequence[float]], comparisons: int = 1) -> Slowdown:
    """Compare one node, which another quantity has named, with the others; all of them have times."""
    return _Comparison(times, comparisons, named=1).slowdown(node)


def _middle(centres: Sequence[float]) -> tuple[float, float]:
    """Return the median of nodes and the standard deviation between them."""
    middle = median(centres)
    return middle, _TO_SIGMA * median(abs(centre - middle) for centre in centres)


def _deviation(groups: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation within groups, from the median distance to the median of each."""
    several = [(values, median(values)) for values in groups if len(values) > 1]
    distances = [abs(value - middle) for values, middle in several for value in values]
    return _TO_SIGMA * median(distances) if distances else 0.0


def _student(normal: float, freedom: float) -> float:
    """Convert a quantile of the normal to Student's t distribution (Abramowitz and Stegun, 26.7.5)."""
    z, n = normal, max(freedom, 1.0)
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n * n)

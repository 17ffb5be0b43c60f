"""Adaptive routing: traffic spreads over all links out of a group and into one, which count as one link."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpiric.model.network import Routed, RoutedNetwork, routed
from mpiric.model.rank_graph import Numbers


def with_group_links(network: RoutedNetwork, labels: Sequence[Sequence[str]]) -> RoutedNetwork:
    """The network with one link out of each group and one into it, as fast as the group's nodes together.

    ``labels`` name the groups of each level.
    """
    groups = network.groups
    counts = [int(group.max()) + 1 for group in groups]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    below = np.concatenate([np.zeros(0), *(np.bincount(group) for group in groups)]).astype(np.float64)

    def route(sources: Numbers, targets: Numbers) -> Routed:
        """Out of and into every group below the first common one."""
        parts = []
        for level, group in enumerate(groups):
            apart = np.flatnonzero(group[sources] != group[targets])
            parts += [
                (apart, starts[level] + group[sources[apart]]),
                (apart, starts[-1] + starts[level] + group[targets[apart]]),
            ]
        return routed(*parts)

    def link_name(link: int) -> str:
        way, group = divmod(link, int(starts[-1]))
        level = int(np.searchsorted(starts, group, side="right")) - 1
        return f"{'into' if way else 'out of'} {labels[level][group - int(starts[level])]}"

    return replace(network, link_speeds=np.concatenate((below, below)), link_name=link_name, route=route)


def adaptive(network: RoutedNetwork) -> RoutedNetwork:
    """A described network whose switches choose the least loaded way."""
    labels = [
        [f"{network.levels[level]} {number}" for number in range(int(group.max()) + 1)]
        for level, group in enumerate(network.groups)
    ]
    return with_group_links(network, labels)

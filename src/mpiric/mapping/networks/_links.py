"""Links between all pairs of groups; the links of a pair count as one per direction."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import Numbers, Routed, RoutedNetwork, Weights, routed

_MOST_LINKS = 2**26


@dataclass(frozen=True)
class GlobalLinks:
    """Links from group to group, numbered after the ``first`` links, which are inside groups."""

    first: int
    groups: int
    group_nodes: int  # nodes per group, equal to its number of links to other groups

    def __post_init__(self) -> None:
        """Raise MpiricError for more links than fit into memory."""
        links = self.first + self.groups**2
        if links > _MOST_LINKS:
            raise MpiricError(
                f"the network has {links} links between switches", hint=f"up to {_MOST_LINKS} are supported"
            )

    @property
    def speeds(self) -> Weights:
        """Relative speeds of all links: 1 inside groups, an equal share between groups."""
        lanes = max(1.0, self.group_nodes / max(self.groups - 1, 1))
        return np.concatenate((np.ones(self.first), np.full(self.groups * self.groups, lanes)))

    def between(self, groups: Numbers, target_groups: Numbers) -> Numbers:
        """Return the link of each pair of groups."""
        return self.first + groups * self.groups + target_groups

    def name(self, link: int) -> str:
        """Return the name of a link between groups."""
        group, target_group = divmod(link - self.first, self.groups)
        return f"group {group} to group {target_group}"


def with_group_links(network: RoutedNetwork, labels: Sequence[Sequence[str]]) -> RoutedNetwork:
    """Return the network with one link out of and into each group, as fast as all nodes of the group.

    ``labels`` name the groups of each level.
    """
    groups = network.groups
    counts = [int(group.max()) + 1 for group in groups]
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    below = np.concatenate([np.zeros(0), *(np.bincount(group) for group in groups)]).astype(np.float64)

    def route(sources: Numbers, targets: Numbers) -> Routed:
        """Return the links out of and into every group below the first common one."""
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
    """Return a described network whose switches choose the least loaded route."""
    labels = [
        [f"{network.levels[level]} {number}" for number in range(int(group.max()) + 1)]
        for level, group in enumerate(network.groups)
    ]
    return with_group_links(network, labels)

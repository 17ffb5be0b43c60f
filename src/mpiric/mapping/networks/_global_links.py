"""Links between groups that are joined all to all: those of two groups count as one, each way its own."""

from dataclasses import dataclass

import numpy as np

from mpiric.model.errors import MpiricError
from mpiric.model.rank_graph import Numbers, Weights

_MOST_LINKS = 2**26


@dataclass(frozen=True)
class GlobalLinks:
    """The links from group to group, numbered behind the ``first`` ones, which are inside of groups."""

    first: int
    groups: int
    group_nodes: int  # nodes of a group, which has as many links to other groups

    def __post_init__(self) -> None:
        """Raise MpiricError for more links than memory has room for."""
        links = self.first + self.groups**2
        if links > _MOST_LINKS:
            raise MpiricError(
                f"a network of {links} links between switches", hint=f"up to {_MOST_LINKS} can be described"
            )

    @property
    def speeds(self) -> Weights:
        """Speeds of all links: those inside of groups have 1, two groups share a group's links evenly."""
        lanes = max(1.0, self.group_nodes / max(self.groups - 1, 1))
        return np.concatenate((np.ones(self.first), np.full(self.groups * self.groups, lanes)))

    def between(self, groups: Numbers, target_groups: Numbers) -> Numbers:
        """The link of each pair of groups."""
        return self.first + groups * self.groups + target_groups

    def name(self, link: int) -> str:
        """The name of a link between groups."""
        group, target_group = divmod(link - self.first, self.groups)
        return f"group {group} to group {target_group}"

"""RankOrder: where each rank sits, by the names of nodes; what a launcher needs to carry it out."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RankOrder:
    """A permutation of ranks over the slots that the launcher fills in their order."""

    slots: tuple[int, ...]  # of each rank
    hosts: tuple[str, ...]  # of each slot; a node's slots stand together

    @property
    def seats(self) -> tuple[str, ...]:
        """The host of each rank."""
        return tuple(self.hosts[slot] for slot in self.slots)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank in each slot."""
        found = [0] * len(self.slots)
        for rank, slot in enumerate(self.slots):
            found[slot] = rank
        return tuple(found)

    @property
    def cores(self) -> tuple[int, ...]:
        """The position of each slot on its node."""
        seen: dict[str, int] = {}
        found = []
        for host in self.hosts:
            found.append(seen.get(host, 0))
            seen[host] = found[-1] + 1
        return tuple(found)


@dataclass(frozen=True)
class RankOrderEmission:
    """A rank order as one launcher takes it: the file, and how the launcher is told of it."""

    text: str
    options: tuple[str, ...] = ()  # of the launcher; {file} stands for the file's path
    environment: Mapping[str, str] = field(default_factory=dict)

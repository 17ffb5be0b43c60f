"""RankOrder: where each rank sits, by the names of nodes; what a launcher needs to carry it out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


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
class RankOrderChoice:
    """An order that a tune may try, and what it is predicted to change."""

    name: str  # value of the knob
    file: str  # absolute path, in the form of spec/formats/order.md
    off_node: float  # what messages carry between nodes, as a share of what they do today
    hop_bytes: float  # weighted hop-bytes, likewise


@dataclass(frozen=True)
class RankOrders:
    """The orders that a tune may try, and the runtime that carries them out in the ranks."""

    choices: tuple[RankOrderChoice, ...] = ()
    library: str = ""  # absolute path of the runtime, "" where there is none for this MPI
    family: str = ""  # ABI family that it is for
    engine: str = ""  # absolute path of the mapping engine, which topologies are honoured by
    why_not: str = "no run of it was recorded"  # why there are no choices

    def named(self, name: str) -> RankOrderChoice | None:
        """The choice of a name."""
        return next((choice for choice in self.choices if choice.name == name), None)


@dataclass(frozen=True)
class RankOrderEmission:
    """A rank order in the form of one launcher: content of its file, and what selects the file."""

    text: str
    options: tuple[str, ...] = ()  # options of the launcher; {file} is replaced by the path of the file
    environment: Mapping[str, str] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()  # options that contradict the file and must leave the launch line

    def usage(self, file: Path | str) -> str:
        """Return the variables and options that select the file, and the options that they replace."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        selected = " ".join((*variables, *self.options)).replace("{file}", str(file))
        return f"{selected} (in place of {', '.join(self.replaced)})" if self.replaced else selected

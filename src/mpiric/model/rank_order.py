"""RankOrder: the slot of each rank, by node names; input of a launcher."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class RankOrder:
    """Permutation of ranks over the slots, which the launcher fills in order."""

    slots: tuple[int, ...]  # slot of each rank
    hosts: tuple[str, ...]  # host of each slot; slots of a node are contiguous

    @property
    def seats(self) -> tuple[str, ...]:
        """Return the host of each rank."""
        return tuple(self.hosts[slot] for slot in self.slots)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the rank in each slot."""
        ranks = [0] * len(self.slots)
        for rank, slot in enumerate(self.slots):
            ranks[slot] = rank
        return tuple(ranks)

    @property
    def cores(self) -> tuple[int, ...]:
        """Return the position of each slot on its node."""
        used: dict[str, int] = {}
        cores = []
        for host in self.hosts:
            cores.append(used.get(host, 0))
            used[host] = cores[-1] + 1
        return tuple(cores)


@dataclass(frozen=True)
class RankOrderChoice:
    """Rank order that a tune may try, with its predicted effects."""

    name: str  # value of the knob
    file: str  # absolute path of a file in the format of spec/formats/order.md
    off_node: float  # traffic between nodes, relative to the current order
    hop_bytes: float  # weighted hop-bytes, relative to the current order


@dataclass(frozen=True)
class RankOrders:
    """Rank orders that a tune may try, and the runtime that applies them in the ranks."""

    choices: tuple[RankOrderChoice, ...] = ()
    library: str = ""  # absolute path of the runtime, "" if there is none for this MPI library
    family: str = ""  # ABI family of the runtime
    engine: str = ""  # absolute path of the mapping engine for topologies
    why_not: str = "no run of it was recorded"  # reason for an empty `choices`

    def named(self, name: str) -> RankOrderChoice | None:
        """Return the choice with this name."""
        return next((choice for choice in self.choices if choice.name == name), None)


@dataclass(frozen=True)
class RankOrderEmission:
    """A rank order in the form of one launcher: content of its file, and the settings that select it."""

    text: str
    options: tuple[str, ...] = ()  # options of the launcher; {file} is replaced by the path of the file
    environment: Mapping[str, str] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()  # options that contradict the file and must leave the launch line

    def usage(self, file: Path | str) -> str:
        """Return the variables and options that select the file, and the options that they replace."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        selected = " ".join((*variables, *self.options)).replace("{file}", str(file))
        return f"{selected} (in place of {', '.join(self.replaced)})" if self.replaced else selected

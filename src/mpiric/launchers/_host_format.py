"""HostFormat: one way to write hosts with their slots, in lists and files; and the parts of such formats."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mpiric.model.count import count_of
from mpiric.model.job import HostSlots


@dataclass(frozen=True)
class HostFormat:
    """How a launcher writes hosts; those that share one object read each other's lists and files."""

    listed: Callable[[str], Iterable[HostSlots]]  # the value of an option
    line: Callable[[str], Iterable[HostSlots]]  # a line of a file, without its comment
    write: Callable[[HostSlots], str]  # an entry of a list
    write_line: Callable[[HostSlots], str]
    has_slots: bool = False  # a host may carry a number of slots
    fills: bool = False  # a host named alone has one slot, and without a number of ranks every slot gets one


def with_colon(text: str) -> HostSlots:
    """``user@n1:4`` as a host and its slots."""
    name, _, slots = text.partition(":")
    return HostSlots(name.rpartition("@")[2], count_of(slots))


def by_commas(text: str) -> Iterator[HostSlots]:
    """``n1:4,n2`` as hosts and their slots."""
    return (with_colon(word) for word in text.split(",") if word)


def first_word(text: str) -> Iterator[HostSlots]:
    """``n1:4 …``: the host stands first in a line."""
    yield with_colon(text.split()[0])


def colon(host: HostSlots) -> str:
    """``n1:4``, or the name alone without a number of slots."""
    return f"{host.name}:{host.slots}" if host.slots else host.name


def bare_name(host: HostSlots) -> str:
    """The name alone."""
    return host.name

"""HostFormat: a syntax of hosts with their slots in lists and files, and functions to build such formats."""

from collections.abc import Callable, Iterable, Iterator

from mpiric.model.dataclass import dataclass
from mpiric.model.job import HostSlots
from mpiric.model.numbers_in_text import count_of


@dataclass(frozen=True)
class HostFormat:
    """Syntax of hosts; launchers that share one object can read each other's lists and files."""

    listed: Callable[[str], Iterable[HostSlots]]  # reads the value of an option
    line: Callable[[str], Iterable[HostSlots]]  # reads a line of a file, without its comment
    write: Callable[[HostSlots], str]  # writes an entry of a list
    write_line: Callable[[HostSlots], str]
    has_slots: bool = False  # True if a host may have a number of slots
    fills: bool = False  # True if a bare host has one slot, and all slots are used without a number of ranks


def with_colon(text: str) -> HostSlots:
    """Parse ``user@n1:4`` into a host and its slots."""
    name, _, slots = text.partition(":")
    return HostSlots(name.rpartition("@")[2], count_of(slots))


def by_commas(text: str) -> Iterator[HostSlots]:
    """Parse ``n1:4,n2`` into hosts and their slots."""
    return (with_colon(word) for word in text.split(",") if word)


def first_word(text: str) -> Iterator[HostSlots]:
    """Parse a line that starts with a host: ``n1:4 …``."""
    yield with_colon(text.split()[0])


def colon(host: HostSlots) -> str:
    """Write ``n1:4``, or the name alone without a number of slots."""
    return f"{host.name}:{host.slots}" if host.slots else host.name


def bare_name(host: HostSlots) -> str:
    """Write the name alone."""
    return host.name

"""Open MPI's rankfiles → Plan: a placement written for one launcher, to be said to the others.

``rank 3=n1 slot=0-3``: cores by hwloc's numbers, ``slot=1:0-3`` by socket and core in it. Open MPI 5 counts
hardware threads under ``:hwtcpus``, Open MPI 4 by the kernel's numbers under ``rmaps_rank_file_physical``.
Source: mpirun(1) of Open MPI 4.1, "Specifying Hosts / Rankfiles"; "Placement: rankfiles" of the PRRTE docs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from mpiric.model.errors import MpiricError
from mpiric.model.machine import Topology
from mpiric.model.placement import HardwareThreads, PlacementRequest, Plan, Seat

_LINE = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(.+)")


class Numbers(str, Enum):
    """What the numbers of a rankfile count."""

    CORES = "cores"
    HARDWARE_THREADS = "hardware-threads"  # by hwloc's numbers
    KERNEL = "kernel"  # hardware threads by the kernel's


@dataclass(frozen=True)
class Entry:
    """One line."""

    rank: int
    host: str
    slots: str


def read_rankfile(text: str) -> tuple[Entry, ...]:
    """In the order of ranks. Raises MpiricError for a line that cannot be read, or a rank that is missing."""
    found: dict[int, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        match = _LINE.fullmatch(words)
        if match is None:
            raise MpiricError(
                f"line {number} of the rankfile cannot be read: {words!r}",
                hint="it looks like: rank 0=n1 slot=0-3",
            )
        if int(match[1]) in found:
            raise MpiricError(
                f"line {number} of the rankfile names rank {match[1]} again", hint="one line for each rank"
            )
        found[int(match[1])] = Entry(int(match[1]), match[2], match[3].replace(" ", ""))
    if not found or sorted(found) != list(range(len(found))):
        raise MpiricError("the rankfile does not name every rank from 0 on", hint="rank 0=n1 slot=0-3")
    return tuple(found[rank] for rank in sorted(found))


def plan_rankfile(topology: Topology, entries: Sequence[Entry], numbers: Numbers, threads: int = 0) -> Plan:
    """The plan it stands for. Raises MpiricError where nodes differ, or a number is not on the machine."""
    hosts = tuple(dict.fromkeys(entry.host for entry in entries))
    nodes = [[entry for entry in entries if entry.host == host] for host in hosts]
    seats = tuple(_seat(topology, entry, numbers, threads) for entry in nodes[0])
    in_order = [entry.host for entry in entries] == [entry.host for node in nodes for entry in node]
    for node in nodes:
        alike = [_seat(topology, entry, numbers, threads) for entry in node] == list(seats[: len(node)])
        if not alike or not in_order or (len(node) < len(seats) and node is not nodes[-1]):
            raise MpiricError(
                f"the rankfile places ranks on {node[0].host} otherwise than on {hosts[0]}",
                hint="launchers other than Open MPI's are told one placement for all nodes, filled in order",
            )
    widths = {len(seat.threads) for seat in seats}
    if len(widths) > 1:
        raise MpiricError("ranks of the rankfile have different numbers of cores", hint="give --threads")
    named = hosts if not hosts[0].startswith("+n") else ()
    one = numbers is not Numbers.CORES
    request = PlacementRequest(
        ranks=len(entries),
        threads=widths.pop(),
        nodes=len(hosts),
        hosts=named,
        hardware_threads=HardwareThreads.ALL if one else HardwareThreads.CORE,
    )
    return Plan(request, topology, "rankfile", len(hosts), seats, topology.pus)


def _seat(topology: Topology, entry: Entry, numbers: Numbers, threads: int) -> Seat:
    places = _places(topology, entry, numbers)
    if threads and len(places) % threads:
        raise MpiricError(
            f"rank {entry.rank} has {len(places)} places for {threads} threads", hint="another --threads"
        )
    each = len(places) // threads if threads else 1
    shares = [places[at : at + each] for at in range(0, len(places), each)]
    pus = tuple(tuple(sorted(pu for place in share for pu in place)) for share in shares)
    taken = {pu for thread in pus for pu in thread}
    cores = tuple(core for core in topology.cores if taken & set(core.pus))
    nodes = [core.numa_node for core in cores]
    return Seat(pus, cores, max(sorted(set(nodes)), key=nodes.count))


def _places(topology: Topology, entry: Entry, numbers: Numbers) -> list[tuple[int, ...]]:
    """Hardware threads of each number in a line."""
    socket, colon, list_ = entry.slots.rpartition(":")
    cores = [core for core in topology.cores if not colon or core.package == _number(entry, socket)]
    units: dict[Numbers, list[tuple[int, ...]]] = {
        Numbers.CORES: [core.pus for core in cores],
        Numbers.HARDWARE_THREADS: [(pu,) for core in cores for pu in core.pus],
        Numbers.KERNEL: [(pu,) for pu in range(max(topology.pus) + 1)],
    }
    there = units[numbers]
    wanted = range(len(there)) if list_ == "*" else _expanded(entry, list_)
    known = set(topology.pus)
    if any(number >= len(there) or not known.issuperset(there[number]) for number in wanted):
        raise MpiricError(
            f"rank {entry.rank} sits on slot {entry.slots}, and the machine has {len(topology.cores)} cores",
            hint="--rankfile-numbers says what the numbers count; --topology names the machine",
        )
    places = [there[number] for number in wanted]
    pus = {pu for place in places for pu in place}
    whole = [core.pus for core in topology.cores if pus & set(core.pus)]
    return whole if all(pus.issuperset(core) for core in whole) else places


def _expanded(entry: Entry, text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers = range(_number(entry, low), _number(entry, high or low) + 1)
        if not numbers:
            raise MpiricError(f"slot {part!r} of rank {entry.rank} ends before it begins", hint="slot=0-3")
        found += numbers
    return list(dict.fromkeys(found))


def _number(entry: Entry, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise MpiricError(
            f"slot {entry.slots!r} of rank {entry.rank} cannot be read", hint="slot=0-3, slot=0:1,2, slot=1:*"
        )
    return int(text)

"""Rankfiles of Open MPI → plans, so that other launchers can carry out the same placement.

``rank 3=n1 slot=0-3`` names cores by hwloc's numbers, ``slot=1:0-3`` by socket and core in it. Open MPI 5
counts hardware threads with ``:hwtcpus``, Open MPI 4 by the kernel's numbers with
``rmaps_rank_file_physical``. Sources: mpirun(1) of Open MPI 4.1, "Specifying Hosts / Rankfiles"; "Placement:
rankfiles" of the PRRTE docs.
"""

import re
from collections.abc import Sequence
from enum import Enum
from itertools import groupby

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Topology
from mpiric.model.placement import HardwareThreads, PlacementRequest, Plan, Seat

_LINE = re.compile(r"rank\s+([0-9]{1,7})\s*=\s*(\S+)\s+slots?\s*=\s*(.+)")


class Numbers(str, Enum):
    """Unit that the numbers of a rankfile count."""

    CORES = "cores"
    HARDWARE_THREADS = "hardware-threads"  # hardware threads by hwloc's numbers
    KERNEL = "kernel"  # hardware threads by the kernel's numbers


@dataclass(frozen=True)
class Entry:
    """Line of a rankfile."""

    rank: int
    host: str
    slots: str


def read_rankfile(text: str) -> tuple[Entry, ...]:
    """Return the entries by rank. Raises MpiricError for an unreadable line or a missing rank."""
    entries: dict[int, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry_text = line.partition("#")[0].strip()
        if not entry_text:
            continue
        match = _LINE.fullmatch(entry_text)
        if match is None:
            raise MpiricError(
                f"cannot read line {number} of the rankfile: {entry_text!r}",
                hint="write lines like: rank 0=n1 slot=0-3",
            )
        if int(match[1]) in entries:
            raise MpiricError(
                f"line {number} of the rankfile names rank {match[1]} again", hint="write one line per rank"
            )
        entries[int(match[1])] = Entry(int(match[1]), match[2], match[3].replace(" ", ""))
    if not entries or sorted(entries) != list(range(len(entries))):
        raise MpiricError(
            "the rankfile does not name every rank from 0 on", hint="write lines like: rank 0=n1 slot=0-3"
        )
    return tuple(entries[rank] for rank in sorted(entries))


def plan_rankfile(
    topology: Topology, entries: Sequence[Entry], numbers: Numbers, threads: int = 0
) -> tuple[Plan, ...]:
    """Return the plans for a rankfile, one for each run of equal nodes; the last node may be less full.

    Raises MpiricError if a number is not on the machine, and for placements that only Open MPI can express:
    ranks that alternate between hosts, or ranks with different numbers of threads.
    """
    nodes = [list(group) for _, group in groupby(entries, lambda entry: entry.host)]
    hosts = [node[0].host for node in nodes]
    if repeated := next((host for host in hosts if hosts.count(host) > 1), ""):
        raise MpiricError(
            f"the ranks of {repeated} are not consecutive in the rankfile",
            hint="renumber the ranks: other launchers than Open MPI's fill one host after the other",
        )
    seats = [tuple(_seat(topology, entry, numbers, threads) for entry in node) for node in nodes]
    if len({len(seat.threads) for node in seats for seat in node}) > 1:
        raise MpiricError(
            "ranks of the rankfile have different numbers of cores", hint="set the same number with --threads"
        )
    if len(hosts) > 1 and any(host.startswith("+n") for host in hosts) and not _alike(seats):
        raise MpiricError(
            "nodes of the rankfile differ, but are only numbered (+n0)", hint="write the names of the hosts"
        )
    plans, start = [], 0
    while start < len(nodes):
        end = start + 1
        while end < len(nodes) and _alike(seats[start : end + 1]):
            end += 1
        plans.append(_plan(topology, hosts[start:end], seats[start:end], numbers))
        start = end
    return tuple(plans)


def _alike(nodes: Sequence[tuple[Seat, ...]]) -> bool:
    """Return whether nodes are filled alike; the last one may have fewer ranks."""
    return all(node == nodes[0] for node in nodes[:-1]) and nodes[-1] == nodes[0][: len(nodes[-1])]


def _plan(
    topology: Topology, hosts: Sequence[str], seats: Sequence[tuple[Seat, ...]], numbers: Numbers
) -> Plan:
    counts_threads = numbers is not Numbers.CORES
    request = PlacementRequest(
        ranks=sum(map(len, seats)),
        threads=len(seats[0][0].threads),
        nodes=len(hosts),
        hosts=() if hosts[0].startswith("+n") else tuple(hosts),
        hardware_threads=HardwareThreads.ALL if counts_threads else HardwareThreads.CORE,
    )
    return Plan(request, topology, "rankfile", len(hosts), seats[0], topology.pus)


def _seat(topology: Topology, entry: Entry, numbers: Numbers, threads: int) -> Seat:
    units = _units(topology, entry, numbers)
    if threads and len(units) % threads:
        raise MpiricError(
            f"rank {entry.rank} has {len(units)} CPUs, which {threads} threads cannot share equally",
            hint="choose another number of --threads",
        )
    size = len(units) // threads if threads else 1
    shares = [units[start : start + size] for start in range(0, len(units), size)]
    pus = tuple(tuple(sorted(pu for unit in share for pu in unit)) for share in shares)
    pus_of_rank = {pu for thread in pus for pu in thread}
    cores = tuple(core for core in topology.cores if pus_of_rank & set(core.pus))
    nodes = [core.numa_node for core in cores]
    return Seat(pus, cores, max(sorted(set(nodes)), key=nodes.count))


def _units(topology: Topology, entry: Entry, numbers: Numbers) -> list[tuple[int, ...]]:
    """Return the hardware threads of each number in a line."""
    socket, colon, numbers_text = entry.slots.rpartition(":")
    cores = [core for core in topology.cores if not colon or core.package == _number(entry, socket)]
    by_numbers: dict[Numbers, list[tuple[int, ...]]] = {
        Numbers.CORES: [core.pus for core in cores],
        Numbers.HARDWARE_THREADS: [(pu,) for core in cores for pu in core.pus],
        Numbers.KERNEL: [(pu,) for pu in range(max(topology.pus) + 1)],
    }
    units = by_numbers[numbers]
    numbers_of_slot = range(len(units)) if numbers_text == "*" else _expanded(entry, numbers_text)
    pus_of_machine = set(topology.pus)
    if not numbers_of_slot or any(
        number >= len(units) or not pus_of_machine.issuperset(units[number]) for number in numbers_of_slot
    ):
        raise MpiricError(
            f"rank {entry.rank} uses slot {entry.slots}, but the machine has {len(topology.cores)} cores",
            hint="set the unit of the numbers with --rankfile-numbers, or the machine with --topology",
        )
    chosen = [units[number] for number in numbers_of_slot]
    pus = {pu for unit in chosen for pu in unit}
    touched_cores = [core.pus for core in topology.cores if pus & set(core.pus)]
    return touched_cores if all(pus.issuperset(core) for core in touched_cores) else chosen


def _expanded(entry: Entry, text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        interval = range(_number(entry, low), _number(entry, high or low) + 1)
        if not interval:
            raise MpiricError(
                f"slot {part!r} of rank {entry.rank} ends before it begins", hint="write ranges like slot=0-3"
            )
        numbers += interval
    return list(dict.fromkeys(numbers))


def _number(entry: Entry, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise MpiricError(
            f"cannot read slot {entry.slots!r} of rank {entry.rank}",
            hint="write slot=0-3, slot=0:1,2 or slot=1:*",
        )
    return int(text)

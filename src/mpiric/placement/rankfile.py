"""Open MPI's rankfiles → plans: a placement written for one launcher, to be carried out by the others.

``rank 3=n1 slot=0-3``: cores by hwloc's numbers, ``slot=1:0-3`` by socket and core in it. Open MPI 5 counts
hardware threads under ``:hwtcpus``, Open MPI 4 by the kernel's numbers under ``rmaps_rank_file_physical``.
Source: mpirun(1) of Open MPI 4.1, "Specifying Hosts / Rankfiles"; "Placement: rankfiles" of the PRRTE docs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from mpiric.model.errors import MpiricError
from mpiric.model.machine import Topology
from mpiric.model.placement import HardwareThreads, PlacementRequest, Plan, Seat

_LINE = re.compile(r"rank\s+([0-9]{1,7})\s*=\s*(\S+)\s+slots?\s*=\s*(.+)")


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
    """The entries by rank. Raises MpiricError for a line that cannot be read, or a rank that is missing."""
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


def plan_rankfile(
    topology: Topology, entries: Sequence[Entry], numbers: Numbers, threads: int = 0
) -> tuple[Plan, ...]:
    """The plans it stands for, one for each run of nodes that are alike; the last of them may be less full.

    Raises MpiricError where a number is not on the machine, and for what only Open MPI has syntax for: ranks
    that go to and fro between hosts, or have different numbers of threads.
    """
    nodes = [list(group) for _, group in groupby(entries, lambda entry: entry.host)]
    hosts = [node[0].host for node in nodes]
    if twice := next((host for host in hosts if hosts.count(host) > 1), ""):
        raise MpiricError(
            f"ranks of {twice} do not follow one another in the rankfile",
            hint="other launchers than Open MPI's fill one host after the other: renumber the ranks",
        )
    seats = [tuple(_seat(topology, entry, numbers, threads) for entry in node) for node in nodes]
    if len({len(seat.threads) for node in seats for seat in node}) > 1:
        raise MpiricError("ranks of the rankfile have different numbers of cores", hint="give --threads")
    if len(hosts) > 1 and any(host.startswith("+n") for host in hosts) and not _alike(seats):
        raise MpiricError(
            "nodes of the rankfile differ and are only numbered (+n0)", hint="write the names of the hosts"
        )
    plans, at = [], 0
    while at < len(nodes):
        end = at + 1
        while end < len(nodes) and _alike(seats[at : end + 1]):
            end += 1
        plans.append(_plan(topology, hosts[at:end], seats[at:end], numbers))
        at = end
    return tuple(plans)


def _alike(nodes: Sequence[tuple[Seat, ...]]) -> bool:
    """Whether nodes are filled alike, the last perhaps less."""
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
            f"rank {entry.rank} has {len(units)} CPUs for {threads} threads", hint="another --threads"
        )
    each = len(units) // threads if threads else 1
    shares = [units[at : at + each] for at in range(0, len(units), each)]
    pus = tuple(tuple(sorted(pu for unit in share for pu in unit)) for share in shares)
    taken = {pu for thread in pus for pu in thread}
    cores = tuple(core for core in topology.cores if taken & set(core.pus))
    nodes = [core.numa_node for core in cores]
    return Seat(pus, cores, max(sorted(set(nodes)), key=nodes.count))


def _units(topology: Topology, entry: Entry, numbers: Numbers) -> list[tuple[int, ...]]:
    """Hardware threads of each number in a line."""
    socket, colon, list_ = entry.slots.rpartition(":")
    cores = [core for core in topology.cores if not colon or core.package == _number(entry, socket)]
    by_numbers: dict[Numbers, list[tuple[int, ...]]] = {
        Numbers.CORES: [core.pus for core in cores],
        Numbers.HARDWARE_THREADS: [(pu,) for core in cores for pu in core.pus],
        Numbers.KERNEL: [(pu,) for pu in range(max(topology.pus) + 1)],
    }
    units = by_numbers[numbers]
    wanted = range(len(units)) if list_ == "*" else _expanded(entry, list_)
    known = set(topology.pus)
    if not wanted or any(number >= len(units) or not known.issuperset(units[number]) for number in wanted):
        raise MpiricError(
            f"rank {entry.rank} sits on slot {entry.slots}, and the machine has {len(topology.cores)} cores",
            hint="--rankfile-numbers says what the numbers count; --topology names the machine",
        )
    chosen = [units[number] for number in wanted]
    pus = {pu for unit in chosen for pu in unit}
    whole = [core.pus for core in topology.cores if pus & set(core.pus)]
    return whole if all(pus.issuperset(core) for core in whole) else chosen


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

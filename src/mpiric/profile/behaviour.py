"""Analysis of a record: Record → Behaviour, upper bounds of time by activity, and message sizes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from mpiric.model.policy import BLOCKING
from mpiric.model.profile import Behaviour, Carriers, CollectiveCalls, MessageSizes, Profile
from mpiric.model.record import CallCell, RankRecord, RankState, Record
from mpiric.profile.cells import POINT_TO_POINT, bin_bounds, counted, fact, mpi_s
from mpiric.profile.communicators import POINT_TO_POINT as POINT_TO_POINT_TRAFFIC
from mpiric.profile.communicators import between_ranks, nodes_of

# Collectives in which a rank forwards data of several others.
_GATHERING = ("gather", "scatter", "alltoall")
_SENDING = ("send", "persistent", "one_sided")
_SAME = 256  # relative resolution: sizes that differ by less than 1/256 count as one


def sizes_by_reach(
    record: Record, places: Mapping[int, int], carriers: Carriers
) -> dict[str, tuple[MessageSizes, ...]]:
    """Return reach → sizes. A record has no reach per size: a size counts for every reach of its rank."""
    counts_by_reach: dict[str, Counter[tuple[float, float]]] = {"node": Counter(), "network": Counter()}
    several_nodes, several_ranks = len(set(places.values())) > 1, len(places) > len(set(places.values()))
    for rank in record.ranks:
        # The reaches of a rank's messages; messages to another world may have any.
        peers = [peer for peer in rank.peers if peer.messages and peer.world_rank != rank.rank]
        near = any(_is_near(peer.world_rank, rank, places) for peer in peers)
        remote = any(
            not _is_near(peer.world_rank, rank, places) for peer in peers if peer.world_rank is not None
        )
        unknown = any(peer.world_rank is None for peer in peers)
        for reach in [
            *(["node"] if near or unknown else []),
            *(["network"] if remote or (unknown and several_nodes) else []),
        ]:
            for cell in counted(rank):
                if (
                    record.function_classes.get(cell.function) in _SENDING
                    and cell.calls > 0
                    and cell.bytes > 0
                    and "ecv_init" not in cell.function
                ):
                    counts_by_reach[reach][_about(cell.bytes / cell.calls)] += cell.calls
        for low, high, calls, without in _within_collectives(record, rank, carriers):
            if several_nodes:
                counts_by_reach["network"][low, high] += calls
            if several_ranks and (several_nodes or not without):
                counts_by_reach["node"][low, high] += calls
    sizes = {
        reach: tuple(MessageSizes(*bounds, count) for bounds, count in sorted(counts.items()))
        for reach, counts in counts_by_reach.items()
    }
    through_ucx = [size for reach in ("node", "network") if reach in carriers.ucx for size in sizes[reach]]
    return {**sizes, "ucx": tuple(through_ucx)}


def most_on_node(record: Record, places: Mapping[int, int], carriers: Carriers) -> int:
    """Return the most messages of a rank within its node, including its collectives."""
    one_node = len(set(places.values())) == 1
    return max(
        (
            sum(
                peer.messages
                for peer in rank.peers
                if peer.world_rank is None or _is_near(peer.world_rank, rank, places)
            )
            + sum(
                calls * len(places)
                for _, _, calls, without in _within_collectives(record, rank, carriers)
                if not (without and one_node)
            )
            for rank in record.ranks
        ),
        default=0,
    )


def _about(size: float) -> tuple[float, float]:
    """Round a size to its leading bits, so that sizes which differ by less than a header are equal."""
    unit = max(1, int(size) // _SAME)
    low = int(size) // unit * unit
    return float(low), float(low + unit - 1)


def _is_near(other: int | None, rank: RankRecord, places: Mapping[int, int]) -> bool:
    return other is not None and places.get(other) == places.get(rank.rank)


def _within_collectives(
    record: Record, rank: RankRecord, carriers: Carriers
) -> Iterator[tuple[float, float, int, bool]]:
    """Yield smallest and largest message of a collective, calls, and whether it may work without messages."""
    for cell in counted(rank):
        if record.function_classes.get(cell.function) != "collective" or cell.communicator is None:
            continue
        row = rank.communicators[cell.communicator]
        ranks = row.size + row.remote_size
        if ranks < 2 or not cell.calls or not cell.bytes:
            continue
        name = cell.function.removeprefix("MPI_").lower()
        size = cell.bytes / cell.calls
        passed_on = ranks if any(word in name for word in _GATHERING) else 1
        # Only blocking collectives have implementations without messages.
        yield size / ranks, size * passed_on, cell.calls, name in carriers.without_messages


_FAULT_S = 5e-6  # upper bound for a small page, used if the record has none
_FAULT_SLACK = 2.0  # relative to a fault at the end, when the process was otherwise idle
_ALLOCATOR_SLACK = 2.0  # relative to its calls: evicted caches, shared cache lines
_LAUNCHER_ENDS_S = 0.25  # usual upper bound of the time that a launcher takes to end
_HUGE_FAULT_S = 500e-6  # upper bound for a huge page, which is zeroed completely
_MESSAGES = POINT_TO_POINT | {"persistent", "one_sided"}
# Calls in which nonblocking and persistent collectives take time.
_WAITS = frozenset({"start", "wait", "poll"})


def behaviour_of(
    record: Record,
    profile: Profile,
    carriers: Carriers,
    run_s: float = 0.0,
    safe_s: float = 0.0,
    ended_unix_s: float = 0.0,
    *,
    huge_pages: bool = True,
) -> Behaviour:
    """Return the behaviour of a run of ``run_s`` seconds; ``profile`` is the profile of the record.

    ``safe_s`` is the time from its start until all written data was on the servers, 0 if unknown.

    Work after MPI_Finalize is visible only in the end time ``ended_unix_s``: all of that time except the
    usual time of the launcher may be the program's code or page faults. ``huge_pages`` tells whether a fault
    may have provided a huge page; True if unknown.
    """
    names, places = nodes_of(record)
    on_node = Counter(places.values())
    sizes = sizes_by_reach(record, places, carriers)
    calls = _collectives(record)
    several = {"node": max(on_node.values(), default=1) > 1, "network": len(names) > 1}
    without = carriers.without_messages if len(names) == 1 else frozenset[str]()
    reaches = {
        reach: _most(record, _is_message(record, without)) if several[reach] and sizes[reach] else 0.0
        for reach in several
    }
    ucx = [reaches[reach] for reach in carriers.ucx if reach in reaches]
    numbers = {
        **profile.numbers,
        "nodes": float(len(names)),
        "node_ranks": float(max(on_node.values(), default=1)),
        "mpi_bound": max((_share(mpi_s(rank), rank.wall_s) for rank in record.ranks), default=1.0),
        "node_message_bound": reaches["node"],
        "network_bound": reaches["network"],
        "ucx_bound": max(ucx, default=0.0),
        "ucx_carries": float(any(several[reach] for reach in carriers.ucx)),
        "largest_node_message_bytes": max((size.high_bytes for size in sizes["node"]), default=0.0),
        **_reach_shares(record, places),
        "most_node_messages": float(most_on_node(record, places, carriers)),
        "io_bound": max((_share(rank.io_s, rank.wall_s) for rank in profile.ranks), default=1.0),
        "mpi_io_bound": _most(record, lambda cell: record.function_classes.get(cell.function) == "file"),
        "unsafe_bound": _share(safe_s - run_s, safe_s) if safe_s > run_s > 0 else 0.0,
        **_file_calls(record),
        "outside_bound": max(0.0, 1 - profile.wall_s / run_s) if run_s > 0 else 1.0,
        **_with_end(_own_numbers(record, huge_pages=huge_pages), _end_share(record, run_s, ended_unix_s)),
        **_collective_numbers(record, calls),
    }
    numbers["run_mpi_bound"] = numbers["mpi_bound"] * (1 - numbers["outside_bound"] if run_s > 0 else 1.0)
    return Behaviour(numbers, calls, sizes, carriers, profile.files)


def _file_calls(record: Record) -> dict[str, float]:
    """Count reads and writes through MPI of all ranks, collective and independent ones separately."""
    often = Counter({"collective_file_calls": 0, "independent_file_calls": 0})
    for rank in record.ranks:
        for cell in counted(rank):
            name = cell.function.removeprefix("MPI_File_").removesuffix("_c")
            if name != cell.function and ("read" in name or "write" in name) and not name.endswith("_end"):
                together = "_all" in name or "ordered" in name
                often["collective_file_calls" if together else "independent_file_calls"] += cell.calls
    return {name: float(count) for name, count in often.items()}


def _reach_shares(record: Record, places: Mapping[int, int]) -> dict[str, float]:
    """Return shares of the bytes between ranks that stay on a NUMA node, stay on a node, or leave it."""
    numa = {rank.rank: rank.facts.get("numa_node", "") for rank in record.ranks}
    reached = Counter({"same_numa": 0, "same_node": 0, "other_node": 0})
    for message in between_ranks(record, POINT_TO_POINT_TRAFFIC):
        ends = message.source, message.destination
        if len({places.get(end) for end in ends}) > 1:
            reached["other_node"] += message.bytes
        else:
            reached["same_numa" if len({numa.get(end) for end in ends}) == 1 else "same_node"] += (
                message.bytes
            )
    return {f"{reach}_share": sent / max(1, reached.total()) for reach, sent in reached.items()}


def merged(behaviours: Iterable[Behaviour]) -> Behaviour:
    """Merge several runs: facts of the last one with the largest bounds of all."""
    several = list(behaviours)
    bounds = {
        name: max(behaviour.numbers[name] for behaviour in several)
        for name in several[-1].numbers
        if name.endswith("_bound")
    }
    return replace(several[-1], numbers={**several[-1].numbers, **bounds})


def _share(part_s: float, whole_s: float) -> float:
    return min(1.0, part_s / whole_s) if whole_s > 0 else 1.0


def _most(record: Record, counts: Callable[[CallCell], bool]) -> float:
    """Return the largest share of a rank's time in the calls that count; 1 without ranks."""
    return max((_share(_spent_s(rank, counts), rank.wall_s) for rank in record.ranks), default=1.0)


def _spent_s(rank: RankRecord, counts: Callable[[CallCell], bool]) -> float:
    return sum(cell.time_s + cell.waited_s for cell in counted(rank) if counts(cell))


def _is_message(record: Record, without: frozenset[str]) -> Callable[[CallCell], bool]:
    """Return a check whether a call sends messages, waits for them, or is a collective made of messages."""
    kinds = record.function_classes

    def counts(cell: CallCell) -> bool:
        kind = kinds.get(cell.function, "manage")
        name = cell.function.removeprefix("MPI_").lower()
        return kind in _MESSAGES or (kind == "collective" and name not in without)

    return counts


def _family(function: str) -> str:
    """Return ``allreduce`` for ``MPI_Iallreduce_init``."""
    name = function.removeprefix("MPI_").lower().removesuffix("_init")
    return name[1:] if name.startswith("i") and name[1:] in BLOCKING else name


def _own_numbers(record: Record, *, huge_pages: bool) -> dict[str, float]:
    """Return the shares of the ranks' own code and of the kernel; 1 if a rank did not record them.

    The kernel's share refers to the CPU time of the rank, because other processes may have used its CPU. For
    effects on the whole process, the larger of two bounds is used: since MPI_Init, and since its start.
    """

    def largest(value: Callable[[RankRecord], float], key: str = "time.system_us") -> float:
        return max((value(rank) if key in rank.facts else 1.0 for rank in record.ranks), default=1.0)

    huge = huge_pages or any(fact(rank, "memory.huge_kib") for rank in record.ranks)
    return {
        "own_bound": max((_own_share(rank) for rank in record.ranks), default=1.0),
        "kernel_bound": largest(lambda rank: _share(fact(rank, "time.system_us") / 1e6, _on_cpu_s(rank))),
        "fault_bound": largest(lambda rank: _fault_share(rank, huge=huge), "faults.minor"),
        "allocator_bound": largest(_allocator_share, "allocator.us"),
    }


def _end_share(record: Record, run_s: float, ended_unix_s: float) -> float:
    """Return the share of the run after the last MPI_Finalize; 0 if not all ranks reached it."""
    if run_s <= 0 or ended_unix_s <= 0 or any(r.state is not RankState.FINALIZED for r in record.ranks):
        return 0.0
    over_s = max((rank.begin_unix_s + rank.wall_s for rank in record.ranks), default=ended_unix_s)
    return _share(max(0.0, ended_unix_s - over_s - _LAUNCHER_ENDS_S), run_s)


def _with_end(numbers: Mapping[str, float], end: float) -> dict[str, float]:
    """Add the time at the end to the bounds that may include it; the kernel's is a share of CPU time."""
    bounds = ("own_bound", "fault_bound", "allocator_bound")
    ended = {name: numbers[name] * (1 - end) + end for name in bounds}
    return {**numbers, **ended}


def _own_share(rank: RankRecord) -> float:
    before_s = _before_s(rank)
    own_s = rank.wall_s - mpi_s(rank)
    return max(_share(own_s, rank.wall_s), _share(before_s + own_s, before_s + rank.wall_s))


def _fault_share(rank: RankRecord, *, huge: bool) -> float:
    """Return the share of time in page faults at the machine's cost per fault, at most the kernel's share."""
    each_s = _FAULT_SLACK * fact(rank, "fault_ns") / 1e9 if "fault_ns" in rank.facts else _FAULT_S
    each_s = max(each_s, _HUGE_FAULT_S) if huge else each_s
    kernel_s, faults = fact(rank, "time.system_us") / 1e6, fact(rank, "faults.minor")
    of_before_s, before = fact(rank, "before.system_us") / 1e6, fact(rank, "before.minor_faults")
    of_main = min(kernel_s, each_s * faults)
    of_all = min(kernel_s + of_before_s, each_s * (faults + before))
    return max(_share(of_main, _on_cpu_s(rank)), _share(of_all, _on_cpu_s(rank) + _before_s(rank)))


def _allocator_share(rank: RankRecord) -> float:
    """Return the share of calls to the allocator of all threads, with their effect on caches."""
    main_s, before_s = fact(rank, "allocator.us") / 1e6, fact(rank, "before.allocator_us") / 1e6
    of_all = _share(_ALLOCATOR_SLACK * (main_s + before_s), rank.wall_s + _before_s(rank))
    return max(_share(_ALLOCATOR_SLACK * main_s, rank.wall_s), of_all)


def _before_s(rank: RankRecord) -> float:
    """Return the CPU time of the process before it called MPI."""
    return (fact(rank, "before.user_us") + fact(rank, "before.system_us")) / 1e6


def _on_cpu_s(rank: RankRecord) -> float:
    cpu_s = (fact(rank, "time.user_us") + fact(rank, "time.system_us")) / 1e6
    return min(rank.wall_s, cpu_s) if cpu_s > 0 else rank.wall_s


def _collectives(record: Record) -> tuple[CollectiveCalls, ...]:
    """Return collective calls by name, communicator size and call size, without single-rank communicators."""
    calls: dict[tuple[str, int, int], Counter[int]] = defaultdict(Counter)
    times: dict[tuple[str, int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for rank, cell, ranks in _calls_together(record):
        key = (_family(cell.function), ranks, cell.size_bin)
        calls[key][rank.rank] += cell.calls
        times[key][rank.rank] += _share(cell.time_s + cell.waited_s, rank.wall_s)
    return tuple(
        CollectiveCalls(
            name,
            ranks,
            *bin_bounds(size_bin),
            max(calls[name, ranks, size_bin].values()),
            min(1.0, max(times[name, ranks, size_bin].values())),
        )
        for name, ranks, size_bin in sorted(calls)
    )


def _calls_together(record: Record) -> Iterator[tuple[RankRecord, CallCell, int]]:
    """Yield collective calls on communicators of several ranks, with the number of ranks."""
    for rank in record.ranks:
        for cell in counted(rank):
            if record.function_classes.get(cell.function) == "collective" and cell.communicator is not None:
                row = rank.communicators[cell.communicator]
                if row.size + row.remote_size > 1:
                    yield rank, cell, row.size + row.remote_size


def _collective_numbers(record: Record, calls: tuple[CollectiveCalls, ...]) -> dict[str, float]:
    """Return calls and bound of each collective (0 if never called), and of all together.

    The bound of nonblocking ones includes all waiting of the program.
    """
    often = Counter[str]()
    for entry in calls:
        often[entry.name] += entry.calls
    spent: dict[int, dict[str, float]] = {rank.rank: defaultdict(float) for rank in record.ranks}
    later: set[str] = set()
    for rank, cell, _ in _calls_together(record):
        spent[rank.rank][_family(cell.function)] += cell.time_s + cell.waited_s
        later |= (
            {_family(cell.function)}
            if cell.function.startswith("MPI_I") or cell.function.endswith("_init")
            else set()
        )
    waits = {
        rank.rank: _spent_s(rank, lambda cell: record.function_classes.get(cell.function) in _WAITS)
        for rank in record.ranks
    }

    def bound(names: Collection[str]) -> float:
        is_waited_for = not later.isdisjoint(names)
        return max(
            _share(
                sum(spent[rank.rank][name] for name in names) + is_waited_for * waits[rank.rank], rank.wall_s
            )
            for rank in record.ranks
        )

    numbers = {f"{name}_calls": float(often[name]) for name in BLOCKING}
    numbers |= {f"{name}_bound": bound([name]) if often[name] else 0.0 for name in BLOCKING}
    numbers["collective_calls"] = float(often.total())
    numbers["collective_bound"] = bound(often) if often else 0.0
    return numbers

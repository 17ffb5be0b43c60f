"""Numbers of nodes, of ranks and threads on each of them, and of cores that saturate the memory bandwidth."""

from dataclasses import replace

from mpiric.model.amount import counted
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.machine import CoreSet
from mpiric.model.placement import Bandwidth, HardwareThreads, PlacementRequest, Saturation
from mpiric.placement.policies import saturating


@dataclass(frozen=True)
class Sizing:
    """Result of sizing. ``available`` has one entry per thread that fits: a core or a hardware thread."""

    nodes: int
    per_node: int
    threads: int
    mode: HardwareThreads
    available: CoreSet
    notes: tuple[str, ...] = ()


def size(
    available: CoreSet, request: PlacementRequest, saturation: Saturation | None, *, shares_out: bool
) -> Sizing:
    """Choose the numbers; nodes are added only if none are requested. Raises MpiricError without room."""
    _check(request, saturation)
    mode = request.hardware_threads
    room = each_hardware_thread(available) if mode is HardwareThreads.ALL else available
    threads = request.threads or (_shared_out(room, request) if shares_out else 1)
    useful = len(saturating(room, saturation).cores) if saturation else len(room.cores)
    if not request.nodes:
        capacity = useful // threads or len(room.cores) // threads
        if not capacity:
            raise MpiricError(
                f"a rank of {threads} threads does not fit on a node with room for {len(room.cores)}",
                hint="use fewer --threads, or --hardware-threads all",
            )
        nodes = -(-request.ranks // capacity)
        return Sizing(nodes, -(-request.ranks // nodes), threads, mode, room)
    per_node = -(-request.ranks // request.nodes)
    needed = per_node * threads
    if needed <= len(room.cores):
        note = f"{needed} cores of a node are used, although {useful} saturate its memory bandwidth"
        return Sizing(request.nodes, per_node, threads, mode, room, (note,) if needed > useful else ())
    hardware_threads = each_hardware_thread(available)
    if mode is HardwareThreads.CORE and needed <= len(hardware_threads.cores):
        note = f"{needed} threads on {len(room.cores)} cores: each thread gets one hardware thread"
        return Sizing(request.nodes, per_node, threads, HardwareThreads.ALL, hardware_threads, (note,))
    raise MpiricError(
        f"{counted(per_node, 'rank')} of {counted(threads, 'thread')} do not fit on a node with "
        f"{counted(len(available.cores), 'usable core')}",
        hint=f"use --nodes {-(-request.ranks * threads // len(room.cores))}, or fewer threads",
    )


def each_hardware_thread(available: CoreSet) -> CoreSet:
    """Return a core set with one entry per hardware thread; threads of a core are adjacent."""
    return replace(
        available, cores=tuple(replace(core, pus=(pu,)) for core in available.cores for pu in core.pus)
    )


def _check(request: PlacementRequest, saturation: Saturation | None) -> None:
    if request.ranks < 1 or request.threads < 0 or request.nodes < 0:
        raise MpiricError(
            "ranks must be at least 1, threads and nodes at least 0",
            hint="for example: --ranks 4 --threads 2",
        )
    if request.nodes > request.ranks:
        raise MpiricError(
            f"{request.ranks} ranks cannot use {request.nodes} nodes", hint="use at most one node per rank"
        )
    if request.hosts and request.nodes > len(request.hosts):
        raise MpiricError(
            f"{request.nodes} nodes are requested, but {len(request.hosts)} hosts are named",
            hint="name every node in --hosts, or none",
        )
    if saturation and request.hardware_threads is HardwareThreads.ALL:
        raise MpiricError(
            "the bandwidth policy leaves cores idle, so it cannot use the second hardware threads of cores",
            hint="omit --hardware-threads all, or choose another policy",
        )


def _shared_out(room: CoreSet, request: PlacementRequest) -> int:
    per_node = -(-request.ranks // (request.nodes or 1))
    return max(1, len(room.cores) // per_node)


_TOLERANCE = 0.05  # loss of bandwidth that is accepted for fewer cores


def saturation_of(measured: tuple[Bandwidth, ...]) -> Saturation | None:
    """Return the fewest cores within 5 % of the best bandwidth, at the fastest spacing for this number.

    None without a measurement of a NUMA node.
    """
    sweep_points = [point for point in measured if point.domain == "numa"]
    if not sweep_points:
        return None
    best = max(point.mb_s for point in sweep_points)
    good = [point for point in sweep_points if point.mb_s >= (1 - _TOLERANCE) * best]
    chosen = min(good, key=lambda point: (point.cores, -point.mb_s))
    widest = max(sweep_points, key=lambda point: point.cores)
    all_cores_mb_s = widest.mb_s if widest.cores > chosen.cores else 0.0
    return Saturation(chosen.cores, chosen.spacing, chosen.mb_s, all_cores_mb_s)


def rule_of_thumb(cores_of_a_numa_node: int) -> Saturation:
    """Return every second core: an estimate from STREAM on most servers of the last ten years."""
    return Saturation(max(1, -(-cores_of_a_numa_node // 2)), 2 if cores_of_a_numa_node > 1 else 1, 0.0, 0.0)


def sweep(cores_of_a_numa_node: int) -> tuple[tuple[int, int], ...]:
    """Return the (cores, spacing) to measure on a NUMA node: powers of two and all, adjacent to far apart."""
    size = cores_of_a_numa_node
    numbers = sorted({1 << bit for bit in range(size.bit_length()) if 1 << bit <= size} | {size})
    return tuple(
        (number, spacing)
        for number in numbers
        for spacing in (1, 2, 4)
        if (number - 1) * spacing < size and (number > 1 or spacing == 1)
    )

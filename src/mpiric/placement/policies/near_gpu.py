"""Near GPU: ranks are assigned to GPUs in rank order, and each runs on cores next to its GPU.

Copies between host and device then cross no link between sockets. Ranks that share a GPU are neighbours.
"""

from mpiric.model.machine import Cores, CoreSet
from mpiric.placement.policies._policy import PlacementDemand, PlacementPolicy
from mpiric.placement.policies.spread import seat_apart


def gpu_of(local_rank: int, count: int, gpus: int) -> int:
    """Return the number of the GPU that a rank of the node uses; neighbouring ranks share one."""
    return local_rank * gpus // count if count > gpus else local_rank


def _seat(available: CoreSet, demand: PlacementDemand) -> tuple[Cores, ...] | None:
    """Place the ranks of GPUs at the same location together, spread over the cores next to these GPUs."""
    by_pus: dict[tuple[int, ...], list[int]] = {}
    for rank in range(demand.count):
        gpu = demand.gpus[gpu_of(rank, demand.count, len(demand.gpus))] if demand.gpus else None
        by_pus.setdefault(gpu.pus if gpu else (), []).append(rank)
    seats: dict[int, Cores] = {}
    for pus, ranks in by_pus.items():
        near = available.only(core for core in available.cores if set(core.pus) & set(pus))
        if len(near.cores) < len(ranks) * demand.width:
            return None
        seats.update(zip(ranks, seat_apart(near, len(ranks), demand.width), strict=True))
    return tuple(seats[rank] for rank in sorted(seats))


POLICY = PlacementPolicy("ranks on the cores nearest to the GPU they use", _seat)

"""Near GPU: ranks take turns at the GPUs in rank order, each on cores of its GPU's side of the machine.

Copies between host and device then cross no socket link. Ranks of one GPU sit together.
"""

from mpiric.model.core_set import Cores, CoreSet
from mpiric.placement.policies._policy import PlacementPolicy, Wanted
from mpiric.placement.policies.spread import seat_apart


def gpu_of(local_rank: int, count: int, gpus: int) -> int:
    """Number of the GPU that a rank of the node uses: neighbours share one."""
    return local_rank * gpus // count if count > gpus else local_rank


def _seat(available: CoreSet, wanted: Wanted) -> tuple[Cores, ...] | None:
    """Ranks whose GPUs sit at the same place are spread together over it, so that they share it out."""
    by_pus: dict[tuple[int, ...], list[int]] = {}
    for rank in range(wanted.count):
        gpu = wanted.gpus[gpu_of(rank, wanted.count, len(wanted.gpus))] if wanted.gpus else None
        by_pus.setdefault(gpu.pus if gpu else (), []).append(rank)
    seats: dict[int, Cores] = {}
    for pus, ranks in by_pus.items():
        near = available.only(core for core in available.cores if set(core.pus) & set(pus))
        if len(near.cores) < len(ranks) * wanted.width:
            return None
        seats.update(zip(ranks, seat_apart(near, len(ranks), wanted.width), strict=True))
    return tuple(seats[rank] for rank in sorted(seats))


POLICY = PlacementPolicy("ranks on the cores nearest to the GPU they use", _seat)

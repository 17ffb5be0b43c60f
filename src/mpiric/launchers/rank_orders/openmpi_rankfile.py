"""Rankfile of Open MPI 4: the host and core of every rank (mpirun(1), "Rankfiles")."""

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def rankfile(order: RankOrder) -> str:
    """A line a rank; cores are counted as Open MPI does, from 0 on each host."""
    cores = order.cores
    lines = (f"rank {r}={order.hosts[slot]} slot={cores[slot]}" for r, slot in enumerate(order.slots))
    return "\n".join(lines) + "\n"


def emit(order: RankOrder) -> RankOrderEmission:
    """Write the rankfile, for -rf."""
    return RankOrderEmission(rankfile(order), ("-rf", "{file}"))

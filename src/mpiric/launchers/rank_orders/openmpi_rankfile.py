"""Rankfile of Open MPI 4: host and core of each rank (mpirun(1), "Rankfiles")."""

from mpiric.model.rank_order import RankOrder, RankOrderEmission

# The file decides mapping and binding. PRRTE refuses a second --map-by and, on several hosts, --bind-to none.
REPLACED = ("--map-by", "--rank-by", "--bind-to")


def rankfile(order: RankOrder) -> str:
    """Return one line per rank; cores are counted from 0 on each host, as Open MPI does."""
    cores = order.cores
    lines = (f"rank {r}={order.hosts[slot]} slot={cores[slot]}" for r, slot in enumerate(order.slots))
    return "\n".join(lines) + "\n"


def emit(order: RankOrder) -> RankOrderEmission:
    """Write the rankfile, for -rf."""
    return RankOrderEmission(rankfile(order), ("-rf", "{file}"), replaced=REPLACED)

"""Host file of Slurm's arbitrary distribution: the host of each rank (srun(1), --distribution)."""

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write one line per rank, for SLURM_HOSTFILE."""
    text = "".join(f"{host}\n" for host in order.seats)
    return RankOrderEmission(text, ("--distribution=arbitrary",), {"SLURM_HOSTFILE": "{file}"})

"""Cray MPICH's MPICH_RANK_ORDER: ranks in the order of the slots (intro_mpi(3), reordering method 3)."""

from mpiric.model.rank_order import RankOrder, RankOrderEmission

_PER_LINE = 16


def emit(order: RankOrder) -> RankOrderEmission:
    """Write slot → rank, for a file MPICH_RANK_ORDER in the working directory or named by the variable."""
    ranks = [str(rank) for rank in order.ranks]
    lines = [",".join(ranks[i : i + _PER_LINE]) for i in range(0, len(ranks), _PER_LINE)]
    text = "# ranks in the order of the slots\n" + "\n".join(lines) + "\n"
    variables = {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "{file}"}
    return RankOrderEmission(text, environment=variables)

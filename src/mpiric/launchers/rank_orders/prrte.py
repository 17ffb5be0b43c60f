"""Rankfile of PRRTE, the launcher of Open MPI 5: the same lines, selected by the mapping policy."""

from mpiric.launchers.rank_orders.openmpi_rankfile import REPLACED, rankfile
from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write the rankfile, for --map-by."""
    return RankOrderEmission(rankfile(order), ("--map-by", "rankfile:file={file}"), replaced=REPLACED)

"""Machinefile of Intel MPI: hosts in the order of ranks (Developer Reference, "-machinefile")."""

from itertools import groupby

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write a line for each run of ranks on one host."""
    runs = ((host, len(list(ranks))) for host, ranks in groupby(order.seats))
    text = "".join(f"{host}:{count}\n" for host, count in runs)
    return RankOrderEmission(text, ("-machinefile", "{file}"), replaced=("-hosts", "-f", "-ppn"))

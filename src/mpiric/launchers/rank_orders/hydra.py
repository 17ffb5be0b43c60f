"""Machinefile and rank map of Hydra (MPICH 5): hosts with their slots, and the host of every rank by number.

A machinefile alone that names a host again for later ranks gives them a node of their own in the eyes of
MPICH, without shared memory to the others there.
"""

from collections import Counter
from itertools import groupby

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write the hosts with their slots; ranks one after the other on one host are a block of the map."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(order.hosts))}
    text = "".join(f"{host}:{count}\n" for host, count in Counter(order.hosts).items())
    runs = ((host, len(list(ranks))) for host, ranks in groupby(order.seats))
    rank_map = ",".join(f"({numbers[host]},1,{count})" for host, count in runs)
    return RankOrderEmission(text, ("-machinefile", "{file}", "-rankmap", f"'{rank_map}'"))

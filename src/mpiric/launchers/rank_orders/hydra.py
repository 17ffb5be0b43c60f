"""Machinefile and rank map of Hydra (MPICH 5): hosts with their slots, and the host number of each rank.

If a machinefile alone names a host twice, MPICH treats the later ranks as if they were on another node,
without shared memory to the others.
"""

from collections import Counter
from itertools import groupby

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write the hosts with their slots; consecutive ranks on one host are a block of the map."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(order.hosts))}
    text = "".join(f"{host}:{count}\n" for host, count in Counter(order.hosts).items())
    runs = ((host, len(list(ranks))) for host, ranks in groupby(order.seats))
    rank_map = ",".join(f"({numbers[host]},1,{count})" for host, count in runs)
    options = ("-machinefile", "{file}", "-rankmap", f"'{rank_map}'")
    return RankOrderEmission(text, options, replaced=("-hosts", "-f"))  # Hydra refuses a second list of hosts

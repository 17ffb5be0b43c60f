"""Explicit resource file of jsrun (LSF): host of each rank, counted from 1 in the job, and CPU."""

from mpiric.model.rank_order import RankOrder, RankOrderEmission


def emit(order: RankOrder) -> RankOrderEmission:
    """Write one line per rank, for --erf_input."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(order.hosts), 1)}
    cores = order.cores
    lines = [
        f"rank: {rank}: {{ host: {numbers[order.hosts[slot]]}; cpu: {{{cores[slot]}}} }}"
        for rank, slot in enumerate(order.slots)
    ]
    return RankOrderEmission(
        "\n".join(["cpu_index_using: logical", *lines]) + "\n", ("--erf_input", "{file}")
    )

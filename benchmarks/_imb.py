"""Reader of IMB's tables, and lower bounds of the time of collectives."""

import re
from math import ceil, log2


def parse_imb(text: str) -> dict[tuple[str, int], float]:
    """IMB's tables: (collective, bytes) → seconds, the time of the slowest rank (t_max)."""
    times: dict[tuple[str, int], float] = {}
    name = ""
    for row in text.splitlines():
        if title := re.match(r"# Benchmarking (\w+)", row):
            name = title[1]
        numbers = row.split()
        if name and len(numbers) >= 5 and all(re.fullmatch(r"[0-9.]+", word) for word in numbers):
            times[name, int(numbers[0])] = float(numbers[3]) * 1e-6
    return times


def lower_bound(
    collective: str, parts: int, size: int, latency_s: float, per_byte_s: float, share: int = 1
) -> float:
    """Chan, Heimlich, Purkayastha, van de Geijn, Collective communication (CCPE 2007), table of lower bounds.

    ``parts`` are nodes, each with ``share`` ranks behind one link; sizes as IMB has them: of a block for
    Scatter, Allgather and Alltoall, of the whole vector for the others.
    """
    rounds = ceil(log2(parts)) if parts > 1 else 0
    share_of_others = (parts - 1) / parts if parts > 1 else 0.0
    volume = {
        "Allreduce": 2 * share_of_others * size,
        "Reduce": size,
        "Bcast": size,
        "Reduce_scatter": share_of_others * size,
        "Scatter": (parts - 1) * share * size,
        "Gather": (parts - 1) * share * size,
        "Allgather": (parts - 1) * share * size,
        "Alltoall": (parts - 1) * share * share * size,
    }.get(collective, 0.0)
    return max(rounds * latency_s + volume * per_byte_s, 1e-12)

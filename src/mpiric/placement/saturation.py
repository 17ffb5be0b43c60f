"""How many cores of a NUMA node draw its whole bandwidth: from a sweep over numbers and spacings of cores."""

from mpiric.model.placement import Bandwidth, Saturation

_TOLERANCE = 0.05  # a smaller number of cores is preferred unless it costs more than this


def saturation_of(measured: tuple[Bandwidth, ...]) -> Saturation | None:
    """The fewest cores within 5 % of the best bandwidth, and of those the fastest spacing.

    None without a measurement of a NUMA node.
    """
    inside = [each for each in measured if each.domain == "numa"]
    if not inside:
        return None
    best = max(each.mb_s for each in inside)
    good = [each for each in inside if each.mb_s >= (1 - _TOLERANCE) * best]
    chosen = min(good, key=lambda each: (each.cores, -each.mb_s))
    widest = max(inside, key=lambda each: each.cores)
    everything = widest.mb_s if widest.cores > chosen.cores else 0.0
    return Saturation(chosen.cores, chosen.spacing, chosen.mb_s, everything)


def rule_of_thumb(cores_of_a_numa_node: int) -> Saturation:
    """Every second core: what STREAM shows on most servers of the last ten years, and no measurement."""
    return Saturation(max(1, -(-cores_of_a_numa_node // 2)), 2 if cores_of_a_numa_node > 1 else 1, 0.0, 0.0)


def sweep(cores_of_a_numa_node: int) -> tuple[tuple[int, int], ...]:
    """(cores, spacing) worth measuring on one NUMA node: powers of two and all, adjacent to far apart."""
    whole = cores_of_a_numa_node
    numbers = sorted({1 << bit for bit in range(whole.bit_length()) if 1 << bit <= whole} | {whole})
    return tuple(
        (number, spacing)
        for number in numbers
        for spacing in (1, 2, 4)
        if (number - 1) * spacing < whole and (number > 1 or spacing == 1)
    )

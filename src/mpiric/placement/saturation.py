"""Number of cores that saturate the memory bandwidth of a NUMA node, from a sweep over core sets."""

from mpiric.model.placement import Bandwidth, Saturation

_TOLERANCE = 0.05  # loss of bandwidth that is accepted for fewer cores


def saturation_of(measured: tuple[Bandwidth, ...]) -> Saturation | None:
    """Return the fewest cores within 5 % of the best bandwidth, at the fastest spacing for this number.

    None without a measurement of a NUMA node.
    """
    sweep_points = [point for point in measured if point.domain == "numa"]
    if not sweep_points:
        return None
    best = max(point.mb_s for point in sweep_points)
    good = [point for point in sweep_points if point.mb_s >= (1 - _TOLERANCE) * best]
    chosen = min(good, key=lambda point: (point.cores, -point.mb_s))
    widest = max(sweep_points, key=lambda point: point.cores)
    all_cores_mb_s = widest.mb_s if widest.cores > chosen.cores else 0.0
    return Saturation(chosen.cores, chosen.spacing, chosen.mb_s, all_cores_mb_s)


def rule_of_thumb(cores_of_a_numa_node: int) -> Saturation:
    """Return every second core: an estimate from STREAM on most servers of the last ten years."""
    return Saturation(max(1, -(-cores_of_a_numa_node // 2)), 2 if cores_of_a_numa_node > 1 else 1, 0.0, 0.0)


def sweep(cores_of_a_numa_node: int) -> tuple[tuple[int, int], ...]:
    """Return the (cores, spacing) to measure on a NUMA node: powers of two and all, adjacent to far apart."""
    size = cores_of_a_numa_node
    numbers = sorted({1 << bit for bit in range(size.bit_length()) if 1 << bit <= size} | {size})
    return tuple(
        (number, spacing)
        for number in numbers
        for spacing in (1, 2, 4)
        if (number - 1) * spacing < size and (number > 1 or spacing == 1)
    )

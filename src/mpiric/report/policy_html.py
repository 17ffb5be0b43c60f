"""Learned policy as a self-contained page: gain over message size, and the times of every candidate."""

from math import ceil, log2

from mpiric.model.policy import LearnedKey, LearnedPolicy
from mpiric.report._pages import page
from mpiric.report.policy_text import cells, legend, lost, overall_gain, pictures, sizes

_WIDTH, _HEIGHT, _LEFT = 640, 180, 44


def policy_html(learned: LearnedPolicy, version: str) -> str:
    """Render the page."""
    groups: dict[tuple[str, str], list[LearnedKey]] = {}
    for key in learned.keys:
        groups.setdefault((key.collective, str(key.shape)), []).append(key)
    return page(
        "policy.html",
        policy=learned,
        gain=overall_gain(learned),
        legend=legend(learned),
        pictures=pictures(learned),
        plots=[(*group, *_plot(keys)) for group, keys in groups.items()],
        keys=[(key, sizes(key), cells(key)) for key in learned.keys],
        lost=lost(learned),
        version=version,
    )


def _plot(keys: list[LearnedKey]) -> tuple[list[tuple[str, str]], float]:
    """Return SVG points by candidate (time relative to the library over log₂ size), and the top."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for key in sorted(keys, key=lambda key: key.start):
        reference = key.time_of("library")
        for candidate in key.candidates if reference and reference.median_s > 0 else ():
            assert reference is not None
            ratio = candidate.median_s / reference.median_s
            lines.setdefault(candidate.name, []).append((log2(max(key.start, 1)), ratio))
    points = [point for line in lines.values() for point in line]
    if not points:
        return [], 1.0
    last = max(1.0, *(at for at, _ in points))
    top = ceil(10 * min(2.0, max(1.05, *(ratio for _, ratio in points)))) / 10

    def place(at: float, ratio: float) -> str:
        across = _LEFT + at / last * (_WIDTH - _LEFT - 10)
        return f"{across:.1f},{_HEIGHT - 20 - min(ratio, top) / top * (_HEIGHT - 30):.1f}"

    return [(name, " ".join(place(*point) for point in line)) for name, line in lines.items()], top

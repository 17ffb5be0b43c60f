"""Learned policy as text, page and JSON: best algorithm per size, gain, confidence."""

from math import ceil, log2
from statistics import geometric_mean
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import seconds, share, size
from mpiric.model.dataclass import dataclass
from mpiric.model.policy import LearnedKey, LearnedPolicy
from mpiric.report._pages import count, page

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LIBRARY_MARK = "·"
_STEPS = tuple(2**power for power in range(25))  # columns of the picture: 1 B to 16 MiB
_WIDTH, _HEIGHT, _LEFT = 640, 180, 44


@dataclass(frozen=True)
class Picture:
    """Line of the picture of the best algorithms: a letter for each step of the size axis."""

    collective: str
    shape: str
    marks: str


def sizes(key: LearnedKey) -> str:
    """Format the sizes of a key as ``16 KiB – 32 KiB``."""
    if key.end is None:
        return f"from {size(key.start)}" if key.start else "all"
    return f"{size(key.start)} – {size(key.end)}"


def overall_gain(learned: LearnedPolicy) -> float | None:
    """Return the geometric mean over the keys of the library's time over the time of the choice."""
    gains = [key.gain for key in learned.keys if key.gain]
    return geometric_mean(gains) if gains else None


def lost(learned: LearnedPolicy) -> str:
    """Describe the time lost by learning; the total is unknown if ranks learned during a program run."""
    total = f" of {seconds(learned.collective_s)}" if learned.collective_s else ""
    return f"learning lost {seconds(learned.learning_s)}{total}"


def legend(learned: LearnedPolicy) -> dict[str, str]:
    """Return candidate → letter; a dot means the library's own choice."""
    names = dict.fromkeys(key.candidate for key in learned.keys if key.candidate != "library")
    return {"library": _LIBRARY_MARK, **dict(zip(names, _LETTERS, strict=False))}


def pictures(learned: LearnedPolicy) -> tuple[Picture, ...]:
    """Draw a letter per power of two for each collective and shape; ``?`` if undecided, blank if unknown."""
    marks = legend(learned)
    groups: dict[tuple[str, str], list[LearnedKey]] = {}
    for key in learned.keys:
        groups.setdefault((key.collective, str(key.shape)), []).append(key)

    def mark(keys: list[LearnedKey], step: int) -> str:
        at = next((k for k in keys if k.start <= step and (k.end is None or step < k.end)), None)
        if at is None:
            return " "
        return marks.get(at.candidate, "+") if at.decided else "?"

    return tuple(
        Picture(collective, shape, "".join(mark(keys, step) for step in _STEPS))
        for (collective, shape), keys in groups.items()
    )


def print_policy(learned: LearnedPolicy, console: Console, exported: float | None = None) -> None:
    """Print heading, picture and table; ``exported`` is the gain of the exported choices without mpiric."""
    gain = overall_gain(learned)
    console.print(Text(f"{learned.implementation} {learned.version}, {learned.world}", style="bold"))
    if gain is not None:
        keys = f"geometric mean over {len(learned.keys)} keys"
        console.print(f"{gain:.2f}× the library's own speed, {keys}; {lost(learned)}")
        if exported is not None:
            console.print(f"{exported:.2f}× with only the exported choices, measured without mpiric")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("collective", no_wrap=True)
    table.add_column("communicator")
    table.add_column("1 B       1 KiB     1 MiB", no_wrap=True)
    for line in pictures(learned):
        table.add_row(line.collective, line.shape, Text(line.marks))
    console.print(table)
    console.print("  ".join(f"{mark} {name}" for name, mark in legend(learned).items()) + "  ? undecided")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("collective", "communicator", "sizes", "best"):
        table.add_column(heading)
    for heading in ("library", "best", "gain", "sure", "calls", "learning"):
        table.add_column(heading, justify="right", no_wrap=True)
    for key in learned.keys:
        table.add_row(key.collective, str(key.shape), sizes(key), key.candidate, *cells(key))
    console.print(table)


def cells(key: LearnedKey) -> tuple[str, ...]:
    """Return the library's time, the best time, gain, confidence, calls, and time lost by learning."""
    reference, best = key.time_of("library"), key.time_of(key.candidate)
    return (
        seconds(reference.median_s) if reference else "–",
        seconds(best.median_s) if best else "–",
        f"{key.gain:.2f}×" if key.gain else "–",
        share(key.confidence) if key.decided else "undecided",
        count(key.calls),
        f"{count(key.learning_calls)} calls, {seconds(key.learning_s)}",
    )


def policy_json(learned: LearnedPolicy) -> dict[str, Any]:
    """Return the policy as JSON. Keys may be added but not renamed (docs/guides/collectives.md)."""
    return {
        "mpi": {"implementation": learned.implementation, "version": learned.version},
        "ranks": learned.world.ranks,
        "nodes": learned.world.nodes,
        "gain": overall_gain(learned),
        "collective_s": learned.collective_s,
        "learning_s": learned.learning_s,
        "keys": [
            {
                "collective": key.collective,
                "communicator": str(key.shape),
                "from": key.start,
                "to": key.end,
                "candidate": key.candidate,
                "settled": key.decided,
                "confidence": key.confidence,
                "gain": key.gain,
                "candidates": {candidate.name: candidate.median_s for candidate in key.candidates},
            }
            for key in learned.keys
        ],
    }


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

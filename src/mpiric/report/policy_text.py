"""A learned policy for the terminal and for scripts: who wins where, by how much, and how sure that is."""

from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpiric.model.amount import seconds, size
from mpiric.model.policy import LearnedKey, LearnedPolicy
from mpiric.report._amounts import count

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LIBRARY_MARK = "·"
_STEPS = tuple(2**power for power in range(25))  # of the picture: 1 B to 16 MiB


@dataclass(frozen=True)
class Picture:
    """One line of the picture of who wins where: a mark for each step of the size axis."""

    collective: str
    shape: str
    marks: str


def sizes(key: LearnedKey) -> str:
    """``16 KiB – 32 KiB``."""
    if key.end is None:
        return f"from {size(key.start)}" if key.start else "all"
    return f"{size(key.start)} – {size(key.end)}"


def overall_gain(learned: LearnedPolicy) -> float | None:
    """Geometric mean over the keys of the library's own time ÷ that of the choice."""
    gains = [key.gain for key in learned.keys if key.gain]
    return geometric_mean(gains) if gains else None


def lost(learned: LearnedPolicy) -> str:
    """What learning cost: ranks that learn while a program runs do not know the time of all its calls."""
    whole = f" of {seconds(learned.collective_s)}" if learned.collective_s else ""
    return f"learning lost {seconds(learned.learning_s)}{whole}"


def legend(learned: LearnedPolicy) -> dict[str, str]:
    """Candidate → mark; what the library does by itself is a dot."""
    names = dict.fromkeys(key.candidate for key in learned.keys if key.candidate != "library")
    return {"library": _LIBRARY_MARK, **dict(zip(names, _LETTERS, strict=False))}


def pictures(learned: LearnedPolicy) -> tuple[Picture, ...]:
    """Draw a mark per power of two for each collective and shape; ``?`` while undecided, blank unknown."""
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
    """Heading, picture, table; ``exported`` is the gain of the exported choices, measured without mpiric."""
    gain = overall_gain(learned)
    console.print(Text(f"{learned.implementation} {learned.version}, {learned.world}", style="bold"))
    if gain is not None:
        keys = f"geometric mean over {len(learned.keys)} keys"
        console.print(f"{gain:.2f}× the library's own speed, {keys}; {lost(learned)}")
        if exported is not None:
            console.print(f"{exported:.2f}× with the exported choices alone, measured without mpiric")
    console.print(_picture(learned))
    console.print("  ".join(f"{mark} {name}" for name, mark in legend(learned).items()) + "  ? undecided")
    console.print(_table(learned))


def _picture(learned: LearnedPolicy) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("collective", no_wrap=True)
    table.add_column("communicator")
    table.add_column("1 B       1 KiB     1 MiB", no_wrap=True)
    for line in pictures(learned):
        table.add_row(line.collective, line.shape, Text(line.marks))
    return table


def _table(learned: LearnedPolicy) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("collective", "communicator", "sizes", "best"):
        table.add_column(heading)
    for heading in ("library", "best", "gain", "sure", "calls", "learning"):
        table.add_column(heading, justify="right", no_wrap=True)
    for key in learned.keys:
        table.add_row(key.collective, str(key.shape), sizes(key), key.candidate, *cells(key))
    return table


def cells(key: LearnedKey) -> tuple[str, ...]:
    """Library's time, best time, gain, confidence, calls, what learning lost."""
    own, best = key.time_of("library"), key.time_of(key.candidate)
    return (
        seconds(own.median_s) if own else "–",
        seconds(best.median_s) if best else "–",
        f"{key.gain:.2f}×" if key.gain else "–",
        f"{key.confidence:.0%}" if key.decided else "undecided",
        count(key.calls),
        f"{count(key.learning_calls)} calls, {seconds(key.learning_s)}",
    )


def policy_json(learned: LearnedPolicy) -> dict[str, Any]:
    """Keys are a contract (docs/guides/collectives.md): added to, never renamed."""
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
                "candidates": {each.name: each.median_s for each in key.candidates},
            }
            for key in learned.keys
        ],
    }

"""Time of the original and the tuned run by activity."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from mpiric.model.tuned import RunTimes

_BAR = 48
PARTS = {  # part → (name, colour in the terminal)
    "start_s": ("start-up", "bright_black"),
    "computing_s": ("computing", "green"),
    "waiting_s": ("waiting", "red"),
    "moving_s": ("moving data", "yellow"),
    "kernel_s": ("kernel", "magenta"),
    "files_s": ("files", "blue"),
    "end_s": ("end", "white"),
}


@dataclass(frozen=True)
class TimesRow:
    """Part of both runs."""

    part: str  # key of `PARTS`
    name: str
    original_s: float
    tuned_s: float


@dataclass(frozen=True)
class TimesBar:
    """Run as a bar; the longer run has `_BAR` characters."""

    name: str
    total_s: float
    lengths: tuple[tuple[str, int], ...]


def times_rows(times: tuple[RunTimes, RunTimes]) -> list[TimesRow]:
    """Return the parts that take time in either run."""
    original, tuned = (asdict(run) for run in times)
    rows = [
        TimesRow(part, name, original[part] or 0.0, tuned[part] or 0.0) for part, (name, _) in PARTS.items()
    ]
    if original["end_s"] is None or tuned["end_s"] is None:
        rows = [
            TimesRow(row.part, "start-up, end", row.original_s, row.tuned_s) if row.part == "start_s" else row
            for row in rows
        ]
    longest = max((max(row.original_s, row.tuned_s) for row in rows), default=0.0)
    return [row for row in rows if max(row.original_s, row.tuned_s) >= longest / 1000]


def times_bars(rows: list[TimesRow]) -> Iterator[TimesBar]:
    """Yield both runs on one scale."""
    runs = {"original": [row.original_s for row in rows], "tuned": [row.tuned_s for row in rows]}
    longest = max(sum(values) for values in runs.values()) or 1.0
    for name, values in runs.items():
        ends = [round(_BAR * sum(values[: index + 1]) / longest) for index in range(len(values))]
        lengths = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
        parts = tuple((row.part, length) for row, length in zip(rows, lengths, strict=True))
        yield TimesBar(name, sum(values), parts)


def times_json(times: tuple[RunTimes, RunTimes] | None) -> dict[str, Any] | None:
    """Return the times as JSON (docs/reference/tune-json.md)."""
    return {"original": asdict(times[0]), "tuned": asdict(times[1])} if times else None

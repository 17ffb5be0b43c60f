"""Wording of the share of each setting in a gain."""

from collections.abc import Iterator
from dataclasses import asdict
from math import isinf, prod
from typing import Any

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Share
from mpiric.model.tuned import KnobChange, RunTimes, Tuned

_COARSE = 10.0  # percentage from which no decimals are shown


def share_words(change: KnobChange) -> str:
    """Return ``+71 % [60, 84] without it``, likely or not shown; "" if nothing was proved."""
    share = change.share
    if share is None:
        return ""
    if share.is_needed:
        return f"does not run {share.why}"
    partners = [knob for knob in share.knobs if knob != change.knob]
    without = f"without it and {', '.join(partners)}" if partners else "without it"
    if share.is_estimated:
        return f"{_percent(share)} {without}, estimated"
    if share.is_likely:
        return f"likely {_percent(share)} {without}, not significant in {share.runs} runs"
    if not share.shown:
        measured = f"{_percent(share)} {without}, " if share.runs else ""
        return f"{measured}not shown to contribute" + (f": {share.why}" if share.why else "")
    return f"{_percent(share)} {without}"


def together_words(tuned: Tuned) -> str:
    """State that the shares of the settings do not multiply to the total gain; "" if they do."""
    evidence = tuned.evidence
    if evidence is None or not evidence.interacts:
        return ""
    product = prod(share.ratio for share in evidence.shares if share.shown)
    names = ", ".join(knob for share in evidence.shares if share.shown for knob in share.knobs)
    return (
        f"{names} interact: their shares multiply to {product:.2f}×, the total gain is {evidence.ratio:.2f}×"
    )


def _percent(share: Share) -> str:
    """Return ``+71 % [60, 84]``: extra time without the setting; no interval if it is unbounded."""
    ends = [100 * (value - 1) for value in (share.ratio, share.low, share.high)]
    form = ".0f" if abs(ends[0]) >= _COARSE else ".1f"
    if share.low <= 0 and isinf(share.high):
        return f"{ends[0]:+{form}} %"
    high = "∞)" if isinf(ends[2]) else f"{ends[2]:{form}}]"
    return f"{ends[0]:+{form}} % [{ends[1]:{form}}, {high}"


UNMOVED = "no quantity that it should change has changed"


def chain(change: KnobChange) -> str:
    """Return ``noticed … → afterwards …``, or a sentence if no quantity has changed; "" without a record.

    Of several quantities, only changed ones are shown, with their causes.
    """
    causes = [effect for effect in change.afterwards if effect.is_cause]
    effects = [effect for effect in change.afterwards if not effect.is_cause]
    moved = [effect for effect in effects if effect.moved]
    shown = moved or effects
    if not shown:
        return ""
    noticed = "; ".join(effect.noticed for effect in (*causes, *shown))
    afterwards = "; ".join(effect.afterwards for effect in shown)
    evidence = f"noticed: {noticed} → afterwards: {afterwards}"
    return evidence if moved else f"it helps, but {UNMOVED} ({evidence})"


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

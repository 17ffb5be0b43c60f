"""Wording of the shares of settings in a gain, of the parts of a run, and of the gain in longer runs."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from math import isfinite, isinf, prod
from typing import Any

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Share, Verdict, WholeCheck, WholeVerdict
from mpiric.model.pace import MarkKey
from mpiric.model.tuned import KnobChange, PartRatio, RunTimes, SplitGain, Tuned

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


@dataclass(frozen=True)
class SplitRow:
    """Part of a run as text."""

    part: str
    times: str
    ratio: str


def split_rows(split: SplitGain) -> Iterator[SplitRow]:
    """Yield one row per part."""
    original, tuned = split.original, split.tuned
    yield SplitRow("start-up", _times(original.start_s, tuned.start_s), _ratio(split.start))
    if original.per_mark_s is not None and tuned.per_mark_s is not None:
        yield SplitRow("per step", _times(original.per_mark_s, tuned.per_mark_s), _ratio(split.main))
    elif original.main_s is not None and tuned.main_s is not None:
        yield SplitRow("main part", _times(original.main_s, tuned.main_s), _ratio(split.main))
    if original.end_s is not None and tuned.end_s is not None:
        yield SplitRow("end", _times(original.end_s, tuned.end_s), "")


def gain_split(tuned: Tuned) -> SplitGain | None:
    """Return the parts of the gain; None if neither the total nor a part shows one."""
    split = tuned.split
    if split is None or tuned.verdict is Verdict.FASTER:
        return split
    is_shown = any(map(_is_significant, (split.start, split.main)))
    return replace(split, longer=()) if is_shown else None


def _is_significant(part: PartRatio) -> bool:
    """Check whether the interval of a part excludes 1."""
    return part.low > 1 or 0 < part.high < 1


def longer_sentence(split: SplitGain) -> str:
    """Describe the gain of runs with a longer main part; "" if the gain of that part is not significant."""
    gains = [
        f"{times} times as long would gain {_longer(split, times, ratio)}" for times, ratio in longer(split)
    ]
    return f"A run {' and one '.join(gains)}." if gains else ""


def longer(split: SplitGain) -> tuple[tuple[int, float], ...]:
    """Return (times as long a main part, total gain); nothing if that part gains nothing significant."""
    return split.longer if _is_significant(split.main) else ()


def _longer(split: SplitGain, times: int, ratio: float) -> str:
    """Format the gain with the interval that follows from the interval of the main part."""
    original, tuned = split.original, split.tuned
    if original.main_s is None or split.main.low <= 0 or isinf(split.main.high):
        return f"{ratio:.2f}×"
    total_s = original.start_s + times * original.main_s + (original.end_s or 0.0)
    other_s = tuned.start_s + (tuned.end_s or 0.0)
    ends = (
        total_s / (other_s + times * original.main_s / gain) for gain in (split.main.low, split.main.high)
    )
    return f"{ratio:.2f}× [{', '.join(f'{end:.2f}' for end in ends)}]"


def scope_sentence(tuned: Tuned) -> str:
    """Describe the compared part of runs that ended at a step marker; "" for complete runs."""
    return f"On {looked_at(tuned)} {counted_by(tuned)}" if tuned.marks else ""


def looked_at(tuned: Tuned) -> str:
    """Describe the compared steps, start-up and the check of the rest; "" for complete runs."""
    if tuned.marks is None:
        return ""
    pair = tuned.marks.pair
    start = ""
    if tuned.split is not None and isfinite(tuned.split.start.high):
        part = tuned.split.start
        start = "; start-up unchanged" if part.low <= 1 <= part.high else f"; start-up {_ratio(part)}"
    return f"{_unit(pair.key)} {pair.first:,}–{pair.last:,}{start}; {_the_rest(tuned.whole)}."


def counted_by(tuned: Tuned) -> str:
    """Describe the step marker, "" if runs were complete."""
    if tuned.marks is None:
        return ""
    marks, key = tuned.marks, tuned.marks.pair.key
    if key.is_printed:
        return (
            f"Steps are lines that match {key.place!r}." if key.place else "Bytes of its output are counted."
        )
    window = f"; the window is from {marks.first_s:.3g} to {marks.last_s:.3g} s after MPI_Init"
    why = f" ({marks.why})" if marks.why else ""
    place = f" at {key.place}" if key.place else ""
    return f"Steps are counted by {key.function}{place}{why}{window if marks.last_s > 0 else ''}."


def _the_rest(check: WholeCheck | None) -> str:
    if check is None or check.verdict is WholeVerdict.NOT_RUN:
        return "the rest was not compared"
    if check.verdict is WholeVerdict.DIFFERS:
        return f"a complete run differs: {check.why}"
    return "a complete run agrees with the original"


def _unit(key: MarkKey) -> str:
    return "bytes" if key.is_printed and not key.place else "steps"


def split_json(split: SplitGain | None) -> dict[str, Any] | None:
    """Return the parts as JSON (docs/reference/tune-json.md)."""
    if split is None:
        return None
    original, tuned = split.original, split.tuned
    interval = [split.main.low, _finite(split.main.high)]
    counted = original.per_mark_s is not None
    return {
        **{
            side: {"start_s": parts.start_s, "main_s": parts.main_s, "end_s": parts.end_s}
            for side, parts in (("original", original), ("tuned", tuned))
        },
        "ratio_main": split.main.ratio,
        "ratio_main_interval": interval,
        "ratio_start": split.start.ratio,
        "ratio_start_interval": [split.start.low, _finite(split.start.high)],
        "start_s": [original.start_s, tuned.start_s],
        "per_mark_s": [original.per_mark_s, tuned.per_mark_s] if counted else None,
        "end_s": None if original.end_s is None else [original.end_s, tuned.end_s],
        "steps": {"ratio": split.main.ratio, "ci95": interval} if counted else None,
        "longer": [{"times": times, "ratio": ratio} for times, ratio in longer(split)],
    }


def _times(original_s: float, tuned_s: float) -> str:
    return f"{original_s:.3g} → {tuned_s:.3g} s"


def _ratio(part: PartRatio) -> str:
    if part.low <= 0 or isinf(part.high):
        return f"{part.ratio:.2f}×"
    no_difference = "  no difference shown" if part.low <= 1 <= part.high else ""
    return f"{part.ratio:.2f}× [{part.low:.2f}, {part.high:.2f}]{no_difference}"


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None

"""Parts of a gain (start-up, main part, end) and the gain expected of longer runs."""

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite, isinf
from typing import Any

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Verdict
from mpiric.model.pace import MarkKey
from mpiric.model.tuned import PartRatio, SplitGain, Tuned
from mpiric.model.whole_check import WholeCheck, WholeVerdict


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

"""Where a gain is, for terminal, page and scripts: start-up, main part, end; what a longer run would gain."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite, isinf
from typing import Any

from mpiric.model.evidence import Verdict
from mpiric.model.pace import MarkKey
from mpiric.model.split_gain import PartRatio, SplitGain
from mpiric.model.tuned import Tuned
from mpiric.model.whole_check import WholeCheck, WholeVerdict


@dataclass(frozen=True)
class SplitRow:
    """One part of a run in words."""

    part: str
    times: str
    ratio: str


def split_rows(split: SplitGain) -> Iterator[SplitRow]:
    """One row a part."""
    original, tuned = split.original, split.tuned
    yield SplitRow("start-up", _times(original.start_s, tuned.start_s), _ratio(split.start))
    if original.per_mark_s is not None and tuned.per_mark_s is not None:
        yield SplitRow("a step", _times(original.per_mark_s, tuned.per_mark_s), _ratio(split.main))
    elif original.main_s is not None and tuned.main_s is not None:
        yield SplitRow("main part", _times(original.main_s, tuned.main_s), _ratio(split.main))
    if original.end_s is not None and tuned.end_s is not None:
        yield SplitRow("end", _times(original.end_s, tuned.end_s), "")


def gain_split(tuned: Tuned) -> SplitGain | None:
    """Where the gain is; None where there is none to divide, neither of the whole nor of a part."""
    split = tuned.split
    if split is None or tuned.verdict is Verdict.FASTER:
        return split
    is_shown = any(map(_is_shown, (split.start, split.main)))
    return replace(split, longer=()) if is_shown else None


def _is_shown(part: PartRatio) -> bool:
    """Return whether the interval of a part leaves no doubt that it is faster or slower."""
    return part.low > 1 or 0 < part.high < 1


def longer_sentence(split: SplitGain) -> str:
    """Return the gain of runs with a longer main part; "" if the gain of that part is not shown."""
    gains = [
        f"{times} times as long would gain {_longer(split, times, ratio)}" for times, ratio in longer(split)
    ]
    return f"A run {' and one '.join(gains)}." if gains else ""


def longer(split: SplitGain) -> tuple[tuple[int, float], ...]:
    """Times as long a main part → the gain of the whole then; empty where nothing is shown of that part."""
    return split.longer if _is_shown(split.main) else ()


def _longer(split: SplitGain, times: int, ratio: float) -> str:
    """The gain with the interval that the main part's own leaves it."""
    original, tuned = split.original, split.tuned
    if original.main_s is None or split.main.low <= 0 or isinf(split.main.high):
        return f"{ratio:.2f}×"
    whole_s = original.start_s + times * original.main_s + (original.end_s or 0.0)
    rest_s = tuned.start_s + (tuned.end_s or 0.0)
    ends = (whole_s / (rest_s + times * original.main_s / part) for part in (split.main.low, split.main.high))
    return f"{ratio:.2f}× [{', '.join(f'{end:.2f}' for end in ends)}]"


def scope_sentence(tuned: Tuned) -> str:
    """What was looked at of a program whose runs ended at a mark, "" where they were whole."""
    return f"On {looked_at(tuned)} {counted_by(tuned)}" if tuned.marks else ""


def looked_at(tuned: Tuned) -> str:
    """The steps that were compared, start-up, and what is known of the rest; "" where runs were whole."""
    if tuned.marks is None:
        return ""
    pair = tuned.marks.pair
    start = ""
    if tuned.split is not None and isfinite(tuned.split.start.high):
        part = tuned.split.start
        start = "; start-up no different" if part.low <= 1 <= part.high else f"; start-up {_ratio(part)}"
    return f"{_what(pair.key)} {pair.first:,}–{pair.last:,}{start}; {_the_rest(tuned.whole)}."


def counted_by(tuned: Tuned) -> str:
    """What counts the steps, "" where runs were whole."""
    if tuned.marks is None:
        return ""
    marks, key = tuned.marks, tuned.marks.pair.key
    if key.is_printed:
        return (
            f"Steps are lines that match {key.place!r}." if key.place else "Bytes are those that it prints."
        )
    window = f"; the window is from {marks.first_s:.3g} to {marks.last_s:.3g} s after MPI_Init"
    why = f" ({marks.why})" if marks.why else ""
    place = f" at {key.place}" if key.place else ""
    return f"Steps are counted by {key.function}{place}{why}{window if marks.last_s > 0 else ''}."


def _the_rest(whole: WholeCheck | None) -> str:
    if whole is None or whole.verdict is WholeVerdict.NOT_RUN:
        return "the rest was not looked at"
    if whole.verdict is WholeVerdict.DIFFERS:
        return f"the whole run differs: {whole.why}"
    return "the whole run agrees with the original's"


def _what(key: MarkKey) -> str:
    return "bytes" if key.is_printed and not key.place else "steps"


def split_json(split: SplitGain | None) -> dict[str, Any] | None:
    """Keys are a contract (docs/reference/tune-json.md)."""
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

"""What each setting of an answer is worth, in words."""

from math import isinf, prod

from mpiric.model.evidence import Share
from mpiric.model.tuned import KnobChange, Tuned

_COARSE = 10.0  # per cent, from which whole numbers do


def share_words(change: KnobChange) -> str:
    """``+71 % [60, 84] without it``, likely or not shown; "" where nothing was proved."""
    share = change.share
    if share is None:
        return ""
    if share.is_needed:
        return f"does not run {share.why}"
    others = [knob for knob in share.knobs if knob != change.knob]
    without = f"without it and {', '.join(others)}" if others else "without it"
    if share.is_estimated:
        return f"{_percent(share)} {without}, estimated"
    if share.is_likely:
        return f"likely {_percent(share)} {without}, by {share.runs} runs that do not show it"
    if not share.shown:
        seen = f"{_percent(share)} {without}, " if share.runs else ""
        return f"{seen}not shown to contribute" + (f": {share.why}" if share.why else "")
    return f"{_percent(share)} {without}"


def together_words(tuned: Tuned) -> str:
    """Say that the settings' shares multiply to something else than the whole; "" when they do not."""
    evidence = tuned.evidence
    if evidence is None or not evidence.interacts:
        return ""
    product = prod(share.ratio for share in evidence.shares if share.shown)
    names = ", ".join(knob for share in evidence.shares if share.shown for knob in share.knobs)
    return (
        f"{names} belong together: their shares multiply to {product:.2f}×, "
        f"the whole gain is {evidence.ratio:.2f}×"
    )


def _percent(share: Share) -> str:
    """``+71 % [60, 84]``: how much longer it takes without; no interval where nothing is ruled out yet."""
    ends = [100 * (value - 1) for value in (share.ratio, share.low, share.high)]
    form = ".0f" if abs(ends[0]) >= _COARSE else ".1f"
    if share.low <= 0 and isinf(share.high):
        return f"{ends[0]:+{form}} %"
    high = "∞)" if isinf(ends[2]) else f"{ends[2]:{form}}]"
    return f"{ends[0]:+{form}} % [{ends[1]:{form}}, {high}"

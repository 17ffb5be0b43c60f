"""Wording of the share of each setting in a gain."""

from math import isinf, prod

from mpiric.model.evidence import Share
from mpiric.model.tuned import KnobChange, Tuned

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

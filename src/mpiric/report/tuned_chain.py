"""Why a setting helps, in evidence: what was noticed, and what became of it afterwards."""

from mpiric.model.tuned import KnobChange

UNKNOWN = "it helps; why is not known"


def chain(change: KnobChange) -> str:
    """``noticed … → afterwards …``, or that why it helps is not known; "" without a record.

    Of several numbers those that have moved are told, as these explain it.
    """
    moved = [each for each in change.afterwards if each.moved]
    told = moved or list(change.afterwards)
    if not told:
        return ""
    noticed, afterwards = (
        "; ".join(getattr(each, side) for each in told) for side in ("noticed", "afterwards")
    )
    evidence = f"noticed: {noticed} → afterwards: {afterwards}"
    return evidence if moved else f"{UNKNOWN} ({evidence})"

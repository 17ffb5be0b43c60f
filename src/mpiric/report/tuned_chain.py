"""Why a setting helps, in evidence: what was noticed, and what became of it afterwards."""

from mpiric.model.tuned import KnobChange

UNMOVED = "nothing that it is meant to change has changed"


def chain(change: KnobChange) -> str:
    """``noticed … → afterwards …``, or that nothing has changed which explains it; "" without a record.

    Of several numbers those that have moved are told, as these explain it, and what the program does to them.
    """
    causes = [each for each in change.afterwards if each.is_cause]
    effects = [each for each in change.afterwards if not each.is_cause]
    moved = [each for each in effects if each.moved]
    shown = moved or effects
    if not shown:
        return ""
    noticed = "; ".join(each.noticed for each in (*causes, *shown))
    afterwards = "; ".join(each.afterwards for each in shown)
    evidence = f"noticed: {noticed} → afterwards: {afterwards}"
    return evidence if moved else f"it helps, though {UNMOVED} ({evidence})"

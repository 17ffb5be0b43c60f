"""What a rank order is predicted to change, as text and as JSON."""

from typing import Any

from mpiric.model.mapped_ranks import Mapped


def mapped_json(mapped: Mapped) -> dict[str, Any]:
    """Every number of the answer; the order itself stands in its file."""
    return {
        "objective": mapped.objective,
        "objective_identity": mapped.objective_identity,
        "seconds": mapped.seconds,
        "gain": mapped.gain,
        "no_gain_expected": not mapped.is_worthwhile,
        "off_node": mapped.off_node,
        "off_node_identity": mapped.off_node_identity,
        "algorithm": mapped.algorithm,
        "proposals": mapped.proposals,
        "heaviest_slot": mapped.heaviest_slot,
        "capacity": mapped.capacity or 1,
    }


def mapped_text(mapped: Mapped) -> str:
    """A few lines: what the order changes, who proposed it, or that there is no need for one."""
    lines = [
        _change("weighted distance", mapped.objective_identity, mapped.objective),
        _change("leaves its node", mapped.off_node_identity, mapped.off_node),
        f"found by:         {mapped.algorithm}, in {mapped.seconds:.2f} s",
    ]
    if not mapped.is_worthwhile:
        lines.append("no gain expected: today's order is as good as any that was found")
    return "\n".join(lines)


def _change(what: str, before: float, after: float) -> str:
    change = f" ({after / before - 1:+.1%})" if before > 0 else ""
    return f"{what + ':':18}{before:g} → {after:g}{change}"

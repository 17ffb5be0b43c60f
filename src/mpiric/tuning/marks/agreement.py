"""Agreement: whether runs of the original did the same work when they came to a mark."""

from collections.abc import Mapping, Sequence

from mpiric.model.pace import Crossing

MOST_APART = 0.005  # of calls and bytes of collectives and sends, on any rank


def disagreement(runs: Sequence[Mapping[int, Crossing]]) -> str:
    """Why a mark does not mean the same work in these runs (rank → crossing of each), "" when it does.

    Polls, waits and receives are not in the counts: how many there are depends on what arrives when.
    """
    ranks = sorted({rank for run in runs for rank in run})
    if not ranks or any(not run for run in runs):
        return "no rank came to it"
    for rank in ranks:
        there = [run[rank] for run in runs if rank in run]
        if len(there) < len(runs):
            return f"rank {rank} did not come to it in every run"
        for what, values in (
            ("calls", [each.calls for each in there]),
            ("bytes", [each.bytes for each in there]),
        ):
            apart = _apart(values)
            if apart > MOST_APART:
                return f"{what} of rank {rank} differ by {apart:.1%} between runs"
    return ""


def less_work(expected: Mapping[int, Crossing], found: Mapping[int, Crossing]) -> str:
    """What a run did differently from the original before the mark, "" when it did the same."""
    for rank, original in sorted(expected.items()):
        if rank not in found:
            return f"rank {rank} did not come to the mark"
        for what, wanted, made in (
            ("calls", original.calls, found[rank].calls),
            ("bytes", original.bytes, found[rank].bytes),
        ):
            if _apart((wanted, made)) > MOST_APART:
                return f"rank {rank} made {made} {what} before the mark where the original makes {wanted}"
    return ""


def _apart(values: Sequence[int]) -> float:
    return (max(values) - min(values)) / max(1, *values)

"""What a rank order is predicted to change, as text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mpiric.model.amount import size
from mpiric.model.duration import show_duration
from mpiric.model.mapped_ranks import LEAST_GAIN, Mapped, OrderCost, OrderVerdict
from mpiric.model.recorded_run import CollectiveModel, RecordedRun

_GOALS = {"worst-link": "busiest link", "nic-messages": "messages a NIC"}
_LINKS = 3  # that are named
_WIDTH = 19  # of what stands before a number
_MODELS = 8  # of collectives that are named


def mapped_json(mapped: Mapped, run: RecordedRun | None = None) -> dict[str, Any]:
    """Every number of the answer; the order itself stands in its file."""
    return {
        "objective": mapped.objective,
        "objective_identity": mapped.objective_identity,
        "seconds": mapped.seconds,
        "goal": mapped.goal,
        "gain": mapped.gain,
        "verdict": mapped.verdict.value,
        "no_gain_expected": not mapped.is_worthwhile,
        "off_node": mapped.found.off_node,
        "off_node_identity": mapped.before.off_node,
        "found": _cost_json(mapped.found),
        "given": _cost_json(mapped.before),
        "time_gain": mapped.time_gain,
        "costs": mapped.costs_source or ("assumed" if mapped.time_gain is not None else None),
        "algorithm": mapped.algorithm,
        "proposals": mapped.proposals,
        "heaviest_slot": mapped.heaviest_slot,
        "capacity": mapped.capacity or 1,
        **(_run_json(run, mapped) if run is not None else {}),
    }


def _run_json(run: RecordedRun, mapped: Mapped) -> Mapping[str, Any]:
    return {
        "collectives": [asdict(source) for source in run.collectives],
        "point_to_point_bytes": run.exact_bytes,
        "run_s": run.wall_s,
        "exchange_s": run.exchange_s,
        "run_s_at_best": None if mapped.time_gain is None else run.predicted_s(mapped.time_gain),
    }


def _cost_json(cost: OrderCost) -> Mapping[str, Any]:
    return {
        "hop_bytes": cost.hop_bytes,
        "off_node": cost.off_node,
        "goal": cost.goal,
        "heaviest_use": cost.heaviest_use,
        "time_s": cost.time_s,
        "busiest": cost.busiest,
        "busiest_link": None if cost.link_loads is None else float(cost.link_loads.max(initial=0)),
        "busiest_links": list(cost.busiest_links),
    }


def mapped_text(mapped: Mapped, run: RecordedRun | None = None) -> str:
    """A few lines: what the order changes, who proposed it, or that there is no need for one."""
    before = () if run is None else _collectives(run.collectives)
    return "\n".join((*before, *_lines(mapped, run)))


def _collectives(sources: Sequence[CollectiveModel]) -> Iterator[str]:
    for each in sources[:_MODELS]:
        calls = f"{each.calls} {each.collective} of {each.ranks} ranks"
        taken = (
            f"as {each.algorithm}, {size(each.bytes)} ({each.source})"
            if each.algorithm
            else f"left out ({each.source})"
        )
        yield f"{'collective:':{_WIDTH}}{calls}: {taken}"
    if len(sources) > _MODELS:
        yield f"{'':{_WIDTH}}… and {len(sources) - _MODELS} kinds more"


def _lines(mapped: Mapped, run: RecordedRun | None) -> Iterator[str]:
    before, found = mapped.before, mapped.found
    yield _change("weighted distance", before.hop_bytes, found.hop_bytes)
    yield _change("leaves its node", before.off_node, found.off_node)
    if mapped.goal in _GOALS:
        yield _change(_GOALS[mapped.goal], before.goal, found.goal)
    if before.heaviest_use:
        yield _change("most used node", before.heaviest_use, found.heaviest_use)
    if found.link_loads is not None and before.link_loads is not None:
        yield _change("network link", before.link_loads.max(initial=0), found.link_loads.max(initial=0))
        for link in found.busiest_links[:_LINKS]:
            yield f"{'':{_WIDTH}}{link}"
    if before.time_s is not None and found.time_s is not None:
        yield _time(mapped, before.time_s, found.time_s)
    if run is not None and mapped.time_gain is not None and mapped.is_worthwhile:
        best_s = run.predicted_s(mapped.time_gain)
        spent = f"{show_duration(run.exchange_s)} of it in exchanges"
        yield f"{'the run:':{_WIDTH}}{show_duration(run.wall_s)}, {spent} → {show_duration(best_s)} at best"
    yield f"{'found by:':{_WIDTH}}{mapped.algorithm}, in {mapped.seconds:.2f} s"
    if mapped.verdict is OrderVerdict.NO_GAIN:
        yield "no gain expected: today's order is as good as any that was found"
    elif mapped.verdict is OrderVerdict.NO_NEED:
        is_slower = (mapped.time_gain or 0.0) <= -LEAST_GAIN
        taken = "would take longer" if is_slower else "takes as long as before"
        yield f"no need: shorter ways do not make it faster, {found.busiest} {taken}"


def _time(mapped: Mapped, before_s: float, found_s: float) -> str:
    change = f" ({found_s / before_s - 1:+.1%})" if before_s > 0 else ""
    costs = mapped.costs_source or "costs assumed, mpiric fabric measures them"
    return (
        f"{'time of traffic:':{_WIDTH}}{show_duration(before_s)} → {show_duration(found_s)}{change}; "
        f"{mapped.found.busiest} is busiest ({costs})"
    )


def _change(what: str, before: float, after: float) -> str:
    change = f" ({after / before - 1:+.1%})" if before > 0 else ""
    return f"{what + ':':{_WIDTH}}{before:g} → {after:g}{change}"

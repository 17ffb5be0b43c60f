"""Predicted effect of a rank order, as text and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mpiric.model.amount import show_duration, size
from mpiric.model.mapping import LEAST_GAIN, CollectiveModel, Mapped, OrderCost, OrderVerdict, RecordedRun

_GOALS = {"worst-link": "busiest link", "nic-messages": "messages a NIC"}
_LINKS = 3  # number of links that are listed
_WIDTH = 19  # width of labels
_MODELS = 8  # number of collectives that are listed


def mapped_json(mapped: Mapped, run: RecordedRun | None = None) -> dict[str, Any]:
    """Return all numbers of the result; the order itself is in its file."""
    return {
        "objective": mapped.objective,
        "objective_identity": mapped.objective_identity,
        "seconds": mapped.seconds,
        "goal": mapped.goal,
        "gain": mapped.gain,
        "verdict": mapped.verdict.value,
        "no_gain_expected": not mapped.is_worthwhile,
        "off_node": mapped.after.off_node,
        "off_node_identity": mapped.before.off_node,
        "found": _cost_json(mapped.after),
        "given": _cost_json(mapped.before),
        "time_gain": mapped.time_gain,
        "costs": mapped.costs_source or ("assumed" if mapped.time_gain is not None else None),
        "algorithm": mapped.algorithm,
        "proposals": mapped.proposals,
        "heaviest_slot": mapped.heaviest_slot,
        "capacity": mapped.capacity or 1,
        **(
            {
                "collectives": [asdict(source) for source in run.collectives],
                "point_to_point_bytes": run.exact_bytes,
                "run_s": run.wall_s,
                "exchange_s": run.exchange_s,
                "run_s_at_best": None if mapped.time_gain is None else run.predicted_s(mapped.time_gain),
            }
            if run is not None
            else {}
        ),
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
    """Describe the changes of the order and the algorithm that found it, or why none is needed."""
    before = () if run is None else _collectives(run.collectives)
    return "\n".join((*before, *_lines(mapped, run)))


def _collectives(sources: Sequence[CollectiveModel]) -> Iterator[str]:
    for model in sources[:_MODELS]:
        calls = f"{model.calls} {model.collective} of {model.ranks} ranks"
        treatment = (
            f"as {model.algorithm}, {size(model.bytes)} ({model.source})"
            if model.algorithm
            else f"left out ({model.source})"
        )
        yield f"{'collective:':{_WIDTH}}{calls}: {treatment}"
    if len(sources) > _MODELS:
        yield f"{'':{_WIDTH}}… and {len(sources) - _MODELS} more kinds"


def _lines(mapped: Mapped, run: RecordedRun | None) -> Iterator[str]:
    before, after = mapped.before, mapped.after
    yield _change("weighted distance", before.hop_bytes, after.hop_bytes)
    yield _change("off-node traffic", before.off_node, after.off_node)
    if mapped.goal in _GOALS:
        yield _change(_GOALS[mapped.goal], before.goal, after.goal)
    if before.heaviest_use:
        yield _change("most used node", before.heaviest_use, after.heaviest_use)
    if after.link_loads is not None and before.link_loads is not None:
        yield _change("network link", before.link_loads.max(initial=0), after.link_loads.max(initial=0))
        for link in after.busiest_links[:_LINKS]:
            yield f"{'':{_WIDTH}}{link}"
    if before.time_s is not None and after.time_s is not None:
        yield _time(mapped, before.time_s, after.time_s)
    if run is not None and mapped.time_gain is not None and mapped.is_worthwhile:
        best_s = run.predicted_s(mapped.time_gain)
        spent = f"{show_duration(run.exchange_s)} in exchanges"
        yield f"{'the run:':{_WIDTH}}{show_duration(run.wall_s)}, {spent} → {show_duration(best_s)} at best"
    yield f"{'found by:':{_WIDTH}}{mapped.algorithm}, in {mapped.seconds:.2f} s"
    if mapped.verdict is OrderVerdict.NO_GAIN:
        yield "no gain expected: no better order than the current one was found"
    elif mapped.verdict is OrderVerdict.NO_NEED:
        is_slower = (mapped.time_gain or 0.0) <= -LEAST_GAIN
        effect = "would take longer" if is_slower else "takes as long as before"
        yield f"no need: shorter distances do not save time, {after.busiest} {effect}"


def _time(mapped: Mapped, before_s: float, after_s: float) -> str:
    change = f" ({100 * (after_s / before_s - 1):+.1f} %)" if before_s > 0 else ""
    costs = mapped.costs_source or "assumed costs; measure them with mpiric fabric"
    return (
        f"{'time of traffic:':{_WIDTH}}{show_duration(before_s)} → {show_duration(after_s)}{change}; "
        f"{mapped.after.busiest} is busiest ({costs})"
    )


def _change(label: str, before: float, after: float) -> str:
    change = f" ({100 * (after / before - 1):+.1f} %)" if before > 0 else ""
    return f"{label + ':':{_WIDTH}}{before:g} → {after:g}{change}"

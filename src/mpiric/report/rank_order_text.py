"""What a rank order is predicted to change, as text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mpiric.model.amount import size
from mpiric.model.collective_model import CollectiveModel
from mpiric.model.duration import show_duration
from mpiric.model.mapped_ranks import Mapped, OrderCost, OrderVerdict

_GOALS = {"worst-link": "busiest link", "nic-messages": "messages a NIC"}
_LINKS = 3  # that are named
_MODELS = 8  # of collectives that are named


def mapped_json(mapped: Mapped, sources: Sequence[CollectiveModel] = ()) -> dict[str, Any]:
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
        "collectives": [asdict(source) for source in sources],
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


def mapped_text(mapped: Mapped, sources: Sequence[CollectiveModel] = ()) -> str:
    """A few lines: what the order changes, who proposed it, or that there is no need for one."""
    return "\n".join((*_collectives(sources), *_lines(mapped)))


def _collectives(sources: Sequence[CollectiveModel]) -> Iterator[str]:
    for each in sources[:_MODELS]:
        calls = f"{each.calls} {each.collective} of {each.ranks} ranks"
        taken = (
            f"as {each.algorithm}, {size(each.bytes)} ({each.source})"
            if each.algorithm
            else f"left out ({each.source})"
        )
        yield f"{'collective:':18}{calls}: {taken}"
    if len(sources) > _MODELS:
        yield f"{'':18}… and {len(sources) - _MODELS} kinds more"


def _lines(mapped: Mapped) -> Iterator[str]:
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
            yield f"{'':18}{link}"
    if before.time_s is not None and found.time_s is not None:
        yield _time(mapped, before.time_s, found.time_s)
    yield f"found by:         {mapped.algorithm}, in {mapped.seconds:.2f} s"
    if mapped.verdict is OrderVerdict.NO_GAIN:
        yield "no gain expected: today's order is as good as any that was found"
    elif mapped.verdict is OrderVerdict.NO_NEED:
        yield f"no need: shorter ways do not make it faster, {found.busiest} takes as long as before"


def _time(mapped: Mapped, before_s: float, found_s: float) -> str:
    change = f" ({found_s / before_s - 1:+.1%})" if before_s > 0 else ""
    costs = mapped.costs_source or "costs assumed, mpiric fabric measures them"
    return (
        f"{'time of traffic:':18}{show_duration(before_s)} → {show_duration(found_s)}{change}; "
        f"{mapped.found.busiest} is busiest ({costs})"
    )


def _change(what: str, before: float, after: float) -> str:
    change = f" ({after / before - 1:+.1%})" if before > 0 else ""
    return f"{what + ':':18}{before:g} → {after:g}{change}"

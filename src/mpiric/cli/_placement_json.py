"""A plan, and what was seen of a job, in the form scripts read."""

from collections.abc import Iterable, Sequence
from typing import Any

from mpiric.model.finding import Finding
from mpiric.model.placement import Bandwidth, Plan, ProcessSeen
from mpiric.workflows.placement.place import Placed


def placed_json(placed: Placed, measured: Sequence[Bandwidth] = ()) -> dict[str, Any]:
    """``ranks`` and ``launchers`` are the contract; the rest explains them."""
    plan = placed.plan
    found: dict[str, Any] = {
        "ranks": all_ranks_json(placed.plans),
        "launchers": placed.launchers,
        "policy": plan.policy,
        "nodes": sum(each.nodes for each in placed.plans),
        "ranks_per_node": plan.ranks_per_node,
        "threads": plan.threads,
        "idle_cores": [core.index for core in plan.idle_cores],
        "core_hours_per_hour": sum(each.core_hours_per_hour for each in placed.plans),
        "openmp_runtimes": placed.runtimes,
        "notes": plan.notes,
    }
    if plan.saturation:
        found["saturation"] = plan.saturation
    if measured:
        found["bandwidth"] = measured
    return found


def all_ranks_json(plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """Ranks of all nodes, in order."""
    found: list[dict[str, Any]] = []
    nodes = 0
    for plan in plans:
        first = len(found)
        found += [
            {**each, "rank": first + each["rank"], "node": nodes + each["node"]} for each in ranks_json(plan)
        ]
        nodes += plan.nodes
    return found


def ranks_json(plan: Plan) -> list[dict[str, Any]]:
    """One entry a rank, in rank order."""
    gpus = plan.seats[0].gpu >= 0
    return [
        {
            "rank": place.rank,
            "node": place.node,
            "threads": place.seat.threads,
            "numa": place.seat.numa,
            **({"gpu": place.seat.gpu} if gpus else {}),
        }
        for place in plan.ranks
    ]


def job_json(
    processes: Sequence[ProcessSeen], findings: Iterable[Finding], plan: Plan | None = None
) -> dict[str, Any]:
    """What was seen, what is wrong with it, and what was planned."""
    return {
        "processes": processes,
        "findings": list(findings),
        "planned": ranks_json(plan) if plan else None,
    }

"""JSON of placement plans and of the observed placement of a job."""

from collections.abc import Iterable, Sequence
from typing import Any

from mpiric.model.errors import Finding
from mpiric.model.placement import Bandwidth, Plan, ProcessSeen
from mpiric.workflows.placement.place import Placed


def placed_json(placed: Placed, measured: Sequence[Bandwidth] = ()) -> dict[str, Any]:
    """Return a plan as a JSON object; ``ranks`` and ``launchers`` are a stable interface."""
    plan = placed.plan
    document: dict[str, Any] = {
        "ranks": all_ranks_json(placed.plans),
        "launchers": placed.launchers,
        "policy": plan.policy,
        "nodes": sum(part.nodes for part in placed.plans),
        "ranks_per_node": plan.ranks_per_node,
        "threads": plan.threads,
        "idle_cores": [core.index for core in plan.idle_cores],
        "core_hours_per_hour": sum(part.core_hours_per_hour for part in placed.plans),
        "openmp_runtimes": placed.runtimes,
        "notes": plan.notes,
    }
    if plan.saturation:
        document["saturation"] = plan.saturation
    if measured:
        document["bandwidth"] = measured
    return document


def all_ranks_json(plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """Return the ranks of all nodes, in order."""
    entries: list[dict[str, Any]] = []
    nodes = 0
    for plan in plans:
        first = len(entries)
        entries += [
            {**rank, "rank": first + rank["rank"], "node": nodes + rank["node"]} for rank in ranks_json(plan)
        ]
        nodes += plan.nodes
    return entries


def ranks_json(plan: Plan) -> list[dict[str, Any]]:
    """Return an entry for each rank, in order."""
    gpus = plan.seats[0].gpu >= 0
    return [
        {
            "rank": place.rank,
            "node": place.node,
            "threads": place.seat.threads,
            "numa": place.seat.numa,
            **({"gpu": place.seat.gpu} if gpus else {}),
            **({"adapters": place.seat.adapters} if place.seat.adapters else {}),
        }
        for place in plan.ranks
    ]


def job_json(
    processes: Sequence[ProcessSeen], findings: Iterable[Finding], plan: Plan | None = None
) -> dict[str, Any]:
    """Return the observed processes, the findings and the planned placement."""
    return {"processes": processes, "findings": list(findings), "planned": ranks_json(plan) if plan else None}

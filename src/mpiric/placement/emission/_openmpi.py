"""What both generations of Open MPI share: hosts with slots, forwarded variables, rankfiles."""

from collections.abc import Callable, Mapping

from mpiric.model.placement import Plan, Seat
from mpiric.placement.openmp import openmp_variables


def words_for_hosts(plan: Plan) -> tuple[str, ...]:
    """Slots are said with the hosts: a host named alone has one slot."""
    hosts = plan.hosts
    return ("--host", ",".join(f"{host}:{plan.ranks_per_node}" for host in hosts)) if hosts else ()


def forwarded(plan: Plan) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The OpenMP variables, and the words that carry them to other nodes."""
    variables = openmp_variables(plan)
    words = tuple(word for name in variables for word in ("-x", name)) if plan.nodes > 1 else ()
    return words, variables


def rankfile(plan: Plan, slots: Callable[[Seat], str]) -> str:
    """One line a rank. Without host names a node is ``+nK``, the K-th of the allocation."""
    hosts = plan.request.hosts or (("localhost",) if plan.nodes == 1 else ())
    lines = (
        f"rank {place.rank}={hosts[place.node] if place.node < len(hosts) else f'+n{place.node}'} "
        f"slot={slots(place.seat)}\n"
        for place in plan.ranks
    )
    return "".join(lines)

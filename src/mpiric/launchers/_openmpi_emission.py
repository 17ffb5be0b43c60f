"""What both generations of Open MPI share: hosts with slots, forwarded variables, rankfiles."""

from collections.abc import Callable, Mapping, Sequence

from mpiric.launchers._openmp import openmp_variables
from mpiric.launchers._uneven import hosts_with_ranks, ranks_in_all, seat_of_each, shared_variables
from mpiric.model.placement import Emission, Plan, Seat


def words_for_hosts(plan: Plan) -> tuple[str, ...]:
    """``--host`` with slots: a host named alone has one."""
    hosts = plan.hosts
    return ("--host", ",".join(f"{host}:{plan.ranks_per_node}" for host in hosts)) if hosts else ()


def forwarded(plan: Plan) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The OpenMP variables, and the words that carry them to other nodes."""
    variables = openmp_variables(plan)
    return (_exports(variables) if plan.nodes > 1 else ()), variables


def _exports(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name in variables for word in ("-x", name))


def uneven(
    plans: Sequence[Plan], words: tuple[str, ...], file: str, slots: Callable[[Plan, Seat], str]
) -> Emission:
    """A rankfile with a line for each rank, whatever the others do."""
    variables = shared_variables(plans)
    hosts = ",".join(f"{host}:{count}" for host, count in hosts_with_ranks(plans))
    text = "".join(
        f"rank {rank}={host} slot={slots(plans[0], seat)}\n" for rank, host, seat in seat_of_each(plans)
    )
    start = ("mpirun", "-np", str(ranks_in_all(plans)), "--host", hosts)
    return Emission((*start, *words, *_exports(variables)), variables, {file: text})


def rankfile(plan: Plan, slots: Callable[[Seat], str]) -> str:
    """One line a rank. Without host names a node is ``+nK``, the K-th of the allocation."""
    hosts = plan.request.hosts or (("localhost",) if plan.nodes == 1 else ())
    lines = (
        f"rank {placed.rank}={hosts[placed.node] if placed.node < len(hosts) else f'+n{placed.node}'} "
        f"slot={slots(placed.seat)}\n"
        for placed in plan.ranks
    )
    return "".join(lines)

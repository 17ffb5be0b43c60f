"""Common parts of both generations of Open MPI: hosts with slots, forwarded variables, rankfiles."""

from collections.abc import Callable, Mapping, Sequence

from mpiric.launchers._openmp import openmp_variables
from mpiric.launchers._uneven import hosts_with_ranks, ranks_in_all, seat_of_each, shared_variables
from mpiric.model.placement import Emission, Plan, Seat


def words_for_hosts(plan: Plan) -> tuple[str, ...]:
    """Return ``--host`` with slots; a host without a number has one slot."""
    hosts = plan.hosts
    return ("--host", ",".join(f"{host}:{plan.ranks_per_node}" for host in hosts)) if hosts else ()


def forwarded(plan: Plan) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the options that forward the OpenMP variables to other nodes, and the variables."""
    variables = openmp_variables(plan)
    return (_exports(variables) if plan.nodes > 1 else ()), variables


def _exports(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name in variables for word in ("-x", name))


def uneven(
    plans: Sequence[Plan], options: tuple[str, ...], file: str, slots: Callable[[Plan, Seat], str]
) -> Emission:
    """Return a launch with a rankfile, which has a line for each rank."""
    variables = shared_variables(plans)
    hosts = ",".join(f"{host}:{count}" for host, count in hosts_with_ranks(plans))
    text = "".join(
        f"rank {rank}={host} slot={slots(plans[0], seat)}\n" for rank, host, seat in seat_of_each(plans)
    )
    start = ("mpirun", "-np", str(ranks_in_all(plans)), "--host", hosts)
    return Emission((*start, *options, *_exports(variables)), variables, {file: text})


def rankfile(plan: Plan, slots: Callable[[Seat], str]) -> str:
    """Return one line per rank; without host names, ``+nK`` is the K-th node of the allocation."""
    hosts = plan.request.hosts or (("localhost",) if plan.nodes == 1 else ())
    lines = (
        f"rank {placed.rank}={hosts[placed.node] if placed.node < len(hosts) else f'+n{placed.node}'} "
        f"slot={slots(placed.seat)}\n"
        for placed in plan.ranks
    )
    return "".join(lines)

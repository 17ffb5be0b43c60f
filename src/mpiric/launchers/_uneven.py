"""Plans for unequal nodes, for launchers with one list of CPUs for all nodes.

Intel MPI and aprun accept sections with their own host and CPUs, which repeat the program. hydra, PALS and
srun have no such syntax, so each rank binds itself by a script on the command line.
"""

from collections.abc import Iterator, Sequence

from mpiric.launchers._openmp import openmp_variables
from mpiric.launchers._registry import dialects
from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.pu_set import pu_list
from mpiric.model.quoting import comment

PROGRAM = "PROGRAM"  # placeholder for the program and its arguments
_SCRIPT = "ranks.sh"
_BINDS_ITSELF = "all nodes share one list of CPUs, so each rank binds itself with taskset (util-linux)"
REPEATED = f"replace {PROGRAM} with the program and its arguments, and append them at the end"


def hosts_with_ranks(plans: Sequence[Plan]) -> list[tuple[str, int]]:
    """Return each host and its number of ranks."""
    hosts = []
    for plan in plans:
        counts = [0] * plan.nodes
        for placed in plan.ranks:
            counts[placed.node] += 1
        hosts += list(zip(plan.hosts, counts, strict=True))
    return hosts


def ranks_in_all(plans: Sequence[Plan]) -> int:
    """Return the number of ranks of the job."""
    return sum(plan.request.ranks for plan in plans)


def seat_of_each(plans: Sequence[Plan]) -> Iterator[tuple[int, str, Seat]]:
    """Yield rank, host and seat of each rank of the job."""
    first = 0
    for plan in plans:
        for placed in plan.ranks:
            yield first + placed.rank, plan.hosts[placed.node], placed.seat
        first += plan.request.ranks


def shared_variables(plans: Sequence[Plan]) -> dict[str, str]:
    """Return the OpenMP variables that suit all ranks; place names refer to the binding of each rank."""
    variables = [openmp_variables(plan) for plan in plans]
    if any("{" in settings.get("OMP_PLACES", "") for settings in variables) or variables.count(
        variables[0]
    ) < len(plans):
        fine = all(len(thread) == 1 for _, _, seat in seat_of_each(plans) for thread in seat.threads)
        return variables[0] | {"OMP_PLACES": "threads" if fine else "cores"}
    return variables[0]


def bound_inside(plans: Sequence[Plan], argv: tuple[str, ...]) -> Emission:
    """Return a launch by `argv`, which bind nothing, in which each rank binds itself."""
    script = {_SCRIPT: _binding_script(plans)}
    return Emission((*argv, "sh", _SCRIPT), shared_variables(plans), script, note=_BINDS_ITSELF)


def _rank() -> str:
    """Return a shell expression of the rank's number under any launcher."""
    *names, last = (dialect.rank_variable for dialect in dialects().values() if dialect.rank_variable)
    expression = f"${{{last}:?no launcher variable holds the number of this rank}}"
    for name in reversed(names):
        expression = f"${{{name}:-{expression}}}"
    return expression


def _binding_script(plans: Sequence[Plan]) -> str:
    """Return a script that binds its rank and then executes the program."""
    cases = "".join(
        f"{rank}) pus={pu_list(seat.pus)} ;;  {comment(host)}\n" for rank, host, seat in seat_of_each(plans)
    )
    return (
        "#!/bin/sh\n"
        f"# sh {_SCRIPT} PROGRAM …: bind this rank to its hardware threads, then execute the program.\n"
        f"case {_rank()} in\n{cases}"
        f'*) echo "{_SCRIPT}: unknown rank" >&2; exit 1 ;;\n'
        "esac\n"
        'exec taskset -c "$pus" "$@"\n'
    )

"""Plans of nodes that differ, for launchers that take one list of CPUs for all nodes.

Intel MPI and aprun take sections with a host and CPUs of their own, which repeat the program. hydra, PALS and
srun have no syntax for it: there each rank binds itself, by a script that stands in the command line.
"""

from collections.abc import Iterator, Sequence

from mpiric.launchers._openmp import openmp_variables
from mpiric.launchers._registry import dialects
from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.pu_set import pu_list
from mpiric.model.quoting import comment

PROGRAM = "PROGRAM"  # stands for the program and its arguments
_SCRIPT = "ranks.sh"
_BINDS_ITSELF = "one list of CPUs serves all nodes here: each rank binds itself by taskset (util-linux)"
REPEATED = f"write the program and its arguments for {PROGRAM} and at the end"


def hosts_with_ranks(plans: Sequence[Plan]) -> list[tuple[str, int]]:
    """Each host and how many ranks it has."""
    found = []
    for plan in plans:
        counts = [0] * plan.nodes
        for placed in plan.ranks:
            counts[placed.node] += 1
        found += list(zip(plan.hosts, counts, strict=True))
    return found


def ranks_in_all(plans: Sequence[Plan]) -> int:
    """Ranks of the whole job."""
    return sum(plan.request.ranks for plan in plans)


def seat_of_each(plans: Sequence[Plan]) -> Iterator[tuple[int, str, Seat]]:
    """Rank, host and seat of each rank of the job."""
    first = 0
    for plan in plans:
        for placed in plan.ranks:
            yield first + placed.rank, plan.hosts[placed.node], placed.seat
        first += plan.request.ranks


def shared_variables(plans: Sequence[Plan]) -> dict[str, str]:
    """The OpenMP variables that hold for every rank: places by name mean those that a rank is bound to."""
    variables = [openmp_variables(plan) for plan in plans]
    if any("{" in each.get("OMP_PLACES", "") for each in variables) or variables.count(variables[0]) < len(
        plans
    ):
        fine = all(len(thread) == 1 for _, _, seat in seat_of_each(plans) for thread in seat.threads)
        return variables[0] | {"OMP_PLACES": "threads" if fine else "cores"}
    return variables[0]


def bound_inside(plans: Sequence[Plan], words: tuple[str, ...]) -> Emission:
    """A launch by `words`, which bind nothing, whose ranks bind themselves."""
    script = {_SCRIPT: _binding_script(plans)}
    return Emission((*words, "sh", _SCRIPT), shared_variables(plans), script, note=_BINDS_ITSELF)


def _rank() -> str:
    """The rank's number in a shell's words, under whichever launcher the script is started."""
    *names, last = (dialect.rank_variable for dialect in dialects().values() if dialect.rank_variable)
    found = f"${{{last}:?no launcher says which rank this is}}"
    for name in reversed(names):
        found = f"${{{name}:-{found}}}"
    return found


def _binding_script(plans: Sequence[Plan]) -> str:
    """A script that binds the rank it is, then becomes the program."""
    cases = "".join(
        f"{rank}) pus={pu_list(seat.pus)} ;;  {comment(host)}\n" for rank, host, seat in seat_of_each(plans)
    )
    return (
        "#!/bin/sh\n"
        f"# sh {_SCRIPT} PROGRAM …: binds this rank to its hardware threads, then becomes the program.\n"
        f"case {_rank()} in\n{cases}"
        f'*) echo "{_SCRIPT}: there is no such rank" >&2; exit 1 ;;\n'
        "esac\n"
        'exec taskset -c "$pus" "$@"\n'
    )

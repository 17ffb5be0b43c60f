"""Parts of command lines that carry out placement plans, shared by several dialects.

Regular plans are recognised, since options of a launcher describe them exactly. OpenMP variables bind the
threads of each rank. Nodes may have different plans: Intel MPI and aprun accept sections with their own host
and CPUs, which repeat the program. hydra, PALS and srun have one list of CPUs for all nodes, so each rank
binds itself by a script on the command line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpiric.launchers._dialect import dialects
from mpiric.model.dataclass import dataclass
from mpiric.model.machine import CoreSet, Level, pu_list
from mpiric.model.placement import Emission, Plan, Seat
from mpiric.model.quoting import comment

LEVELS = (None, Level.SOCKET, Level.NUMA, Level.CACHE)


@dataclass(frozen=True)
class Filled:
    """Regular placement: ``ranks`` ranks of ``width`` full cores in each domain, from its first core on."""

    level: Level | None  # None: the node is one domain
    ranks: int
    width: int


def fillings(plan: Plan, levels: Iterable[Level | None] = LEVELS) -> tuple[Filled, ...]:
    """Return the levels whose regular placement equals the plan; empty for an irregular plan.

    Only full cores count, and only if all cores are usable, because launchers count domains and cores
    themselves.
    """
    topology = plan.topology
    if set(plan.usable) != set(topology.pus) or any(
        set(seat.pus) != {pu for core in seat.cores for pu in core.pus} for seat in plan.seats
    ):
        return ()
    width = len(plan.seats[0].cores)
    if plan.threads != width:
        return ()
    node = CoreSet(topology, topology.cores)
    shapes = []
    for level in levels:
        domains = node.domains(level) if level else (node,)
        per_domain, remainder = divmod(plan.ranks_per_node, len(domains))
        if remainder or any(per_domain * width > len(domain.cores) for domain in domains):
            continue
        expected = [cores for domain in domains for cores in domain.packed(per_domain, width)]
        if expected == [seat.cores for seat in plan.seats]:
            shapes.append(Filled(level, per_domain, width))
    return tuple(shapes)


def whole_cores(plan: Plan) -> bool:
    """Return whether each rank has full cores, so that a list of cores is complete."""
    return all(set(seat.pus) == {pu for core in seat.cores for pu in core.pus} for seat in plan.seats)


def logical_pus(plan: Plan) -> dict[int, int]:
    """Map the OS index of each hardware thread to hwloc's logical index."""
    in_order = [pu for core in plan.topology.cores for pu in core.pus]
    return {pu: number for number, pu in enumerate(in_order)}


def openmp_variables(plan: Plan) -> dict[str, str]:
    """Return the standard OpenMP variables, which are equal for all ranks.

    A runtime restricts abstract places to the set that its process is bound to, so ``cores`` means the cores
    of the rank in ascending order. Explicit places are only possible if a node has one rank.
    """
    if plan.threads == 1:
        return {"OMP_NUM_THREADS": "1"}
    return {"OMP_NUM_THREADS": str(plan.threads), "OMP_PLACES": _places(plan), "OMP_PROC_BIND": "close"}


def _places(plan: Plan) -> str:
    if plan.ranks_per_node == 1:
        return ",".join("{" + ",".join(map(str, thread)) + "}" for thread in plan.seats[0].threads)
    return "threads" if _one_hardware_thread_each(plan) else "cores"


def _one_hardware_thread_each(plan: Plan) -> bool:
    return all(len(thread) == 1 for seat in plan.seats for thread in seat.threads)


def runtime_variables(plan: Plan) -> Mapping[str, Mapping[str, str]]:
    """Return the variables of GNU's and Intel's runtimes, for programs that ignore OMP_PLACES.

    GOMP_CPU_AFFINITY names hardware threads of the node and so cannot serve several ranks at once.
    """
    if plan.threads == 1:
        return {}
    fine = "fine" if _one_hardware_thread_each(plan) else "core"
    variables = {
        "intel": {"KMP_AFFINITY": f"granularity={fine},compact,0,0", "OMP_NUM_THREADS": str(plan.threads)}
    }
    if plan.ranks_per_node == 1:
        first = [thread[0] for thread in plan.seats[0].threads]
        variables["gnu"] = {
            "GOMP_CPU_AFFINITY": " ".join(map(str, first)),
            "OMP_NUM_THREADS": str(plan.threads),
        }
    return variables


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
    cases = "".join(
        f"{rank}) pus={pu_list(seat.pus)} ;;  {comment(host)}\n" for rank, host, seat in seat_of_each(plans)
    )
    script = {
        _SCRIPT: (
            "#!/bin/sh\n"
            f"# sh {_SCRIPT} PROGRAM …: bind this rank to its hardware threads, then execute the program.\n"
            f"case {rank_expression()} in\n{cases}"
            f'*) echo "{_SCRIPT}: unknown rank" >&2; exit 1 ;;\n'
            "esac\n"
            'exec taskset -c "$pus" "$@"\n'
        )
    }
    return Emission((*argv, "sh", _SCRIPT), shared_variables(plans), script, note=_BINDS_ITSELF)


def rank_expression() -> str:
    """Return a shell expression of the rank's number under any launcher."""
    every = dict.fromkeys(dialect.rank_variable for dialect in dialects().values())
    *names, last = filter(None, every)  # Slurm's comes last: it is set where other launchers run, too
    expression = f"${{{last}:?no launcher variable holds the number of this rank}}"
    for name in reversed(names):
        expression = f"${{{name}:-{expression}}}"
    return expression

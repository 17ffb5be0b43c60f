"""Variables of OpenMP runtimes that bind each thread of a rank to its hardware threads."""

from collections.abc import Mapping

from mpiric.model.placement import Plan


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

"""The variables of OpenMP runtimes that put each thread of a rank onto its hardware threads."""

from collections.abc import Mapping

from mpiric.model.placement import Plan


def openmp_variables(plan: Plan) -> dict[str, str]:
    """The standard's own variables, the same for all ranks.

    A runtime restricts abstract places to the set its process is bound to, so ``cores`` means the rank's own
    cores in ascending order. Explicit places are possible only where a node holds one rank.
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
    """The same in the words of GNU's and Intel's runtimes, for programs that ignore OMP_PLACES.

    GOMP_CPU_AFFINITY names hardware threads of the whole node and so cannot serve several ranks at once.
    """
    if plan.threads == 1:
        return {}
    fine = "fine" if _one_hardware_thread_each(plan) else "core"
    found = {
        "intel": {"KMP_AFFINITY": f"granularity={fine},compact,0,0", "OMP_NUM_THREADS": str(plan.threads)}
    }
    if plan.ranks_per_node == 1:
        first = [thread[0] for thread in plan.seats[0].threads]
        found["gnu"] = {
            "GOMP_CPU_AFFINITY": " ".join(map(str, first)),
            "OMP_NUM_THREADS": str(plan.threads),
        }
    return found

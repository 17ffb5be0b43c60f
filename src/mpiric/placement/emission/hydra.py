"""hydra of MPICH and MVAPICH: its levels where they mean the plan, else a mask for each rank.

``-bind-to core:4`` needs ``-map-by core:4``: mapped by core each rank would start one core after the last.
``-map-by numa`` deals ranks out one by one, so it means a plan only with one rank a NUMA node. Masks of
``user:`` are of the kernel's numbers (src/pm/hydra/lib/tools/topo/hwloc of MPICH).
"""

from collections.abc import Sequence

from mpiric.model.core_set import Level
from mpiric.model.placement import Emission, Plan
from mpiric.placement.emission._shape import Filled, fillings
from mpiric.placement.emission._uneven import bound_inside, hosts_with_ranks, ranks_in_all
from mpiric.placement.openmp import openmp_variables

_OBJECTS = {Level.SOCKET: "socket", Level.NUMA: "numa"}


def emit(plan: Plan) -> Emission:
    """Options of ``mpiexec``."""
    words = ["mpiexec", "-n", str(plan.request.ranks)]
    if plan.nodes > 1:
        words += ["-ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        words += ["-hosts", ",".join(plan.hosts)]
    return Emission((*words, *_binding(plan)), openmp_variables(plan))


def _binding(plan: Plan) -> tuple[str, ...]:
    for shape in fillings(plan, (None, Level.SOCKET, Level.NUMA)):
        if words := _level(shape):
            return words
    masks = ",".join("+".join(str(pu) for pu in seat.pus) for seat in plan.seats)
    return ("-bind-to", f"user:{masks}")


def _level(shape: Filled) -> tuple[str, ...]:
    wide = "core" if shape.width == 1 else f"core:{shape.width}"
    if shape.level is None:
        return ("-bind-to", wide, "-map-by", wide)
    return ("-bind-to", wide, "-map-by", _OBJECTS[shape.level]) if shape.ranks == 1 else ()


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """The binding is an option of the whole launch, and every proxy takes its list from the start."""
    hosts = ",".join(f"{host}:{count}" for host, count in hosts_with_ranks(plans))
    words = ("mpiexec", "-n", str(ranks_in_all(plans)), "-hosts", hosts, "-bind-to", "none")
    return bound_inside(plans, words)

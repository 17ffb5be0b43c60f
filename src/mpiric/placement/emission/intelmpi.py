"""Intel MPI pins by variables: a list of masks, one for each rank of a node.

Source: Intel MPI Library Developer Reference, "Process Pinning": ``I_MPI_PIN_DOMAIN=[m1,…,mn]`` with
hexadecimal masks of the kernel's numbers, ``I_MPI_PIN_PROCESSOR_LIST`` for one hardware thread a rank.
"""

from collections.abc import Sequence

from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_mask
from mpiric.placement.emission._uneven import PROGRAM, REPEATED, hosts_with_ranks, shared_variables
from mpiric.placement.openmp import openmp_variables


def emit(plan: Plan) -> Emission:
    """Options of ``mpiexec`` and the variables."""
    words = ["mpiexec", "-n", str(plan.request.ranks), "-ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        words += ["-hosts", ",".join(plan.hosts)]
    return Emission(tuple(words), {"I_MPI_PIN": "1", **_pinning(plan), **openmp_variables(plan)})


def _pinning(plan: Plan) -> dict[str, str]:
    if all(len(seat.pus) == 1 for seat in plan.seats):
        return {"I_MPI_PIN_PROCESSOR_LIST": ",".join(str(seat.pus[0]) for seat in plan.seats)}
    return {"I_MPI_PIN_DOMAIN": "[" + ",".join(pu_mask(seat.pus) for seat in plan.seats) + "]"}


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A section for each host, the pinning being a variable of that section ("Process Pinning")."""
    words = ["mpiexec"]
    for plan in plans:
        for host, count in hosts_with_ranks([plan]):
            words += [PROGRAM, ":"] if len(words) > 1 else []
            words += ["-host", host, "-n", str(count)]
            words += [word for name, value in _pinning(plan).items() for word in ("-env", name, value)]
    return Emission(tuple(words), {"I_MPI_PIN": "1", **shared_variables(plans)}, note=REPEATED)

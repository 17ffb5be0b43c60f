"""HPE's PALS ``mpiexec``: a list of CPUs for each rank of a node.

Source: mpiexec(1) of PALS as HPE's Cray CLI prints it, and the user guides of ALCF; not run here.
"""

from collections.abc import Sequence

from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_list
from mpiric.placement.emission._uneven import bound_inside, hosts_with_ranks, ranks_in_all
from mpiric.placement.openmp import openmp_variables


def emit(plan: Plan) -> Emission:
    """Options of ``mpiexec``."""
    words = ["mpiexec", "-n", str(plan.request.ranks), "--ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        words += ["--hosts", ",".join(plan.hosts)]
    words += ["--cpu-bind", "list:" + ":".join(pu_list(seat.pus) for seat in plan.seats)]
    if len(plan.topology.numa_nodes) > 1:
        words += ["--mem-bind", "local"]
    return Emission(tuple(words), openmp_variables(plan))


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A host named as often as it has ranks; ``list:`` is the same on every host."""
    hosts = ",".join(host for host, count in hosts_with_ranks(plans) for _ in range(count))
    words = ("mpiexec", "-n", str(ranks_in_all(plans)), "--hosts", hosts, "--cpu-bind", "none")
    return bound_inside(plans, words)

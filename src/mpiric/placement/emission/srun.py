"""Slurm's ``srun``: a mask for each task of a node, and enough CPUs for the step that all masks lie in it.

A mask outside of what the step was given is silently cut, down to core 0 when nothing is left of it; so
``-c`` shares out the whole node. ``-c`` counts hardware threads where Slurm knows of them.
"""

from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_mask
from mpiric.placement.openmp import openmp_variables


def emit(plan: Plan) -> Emission:
    """Options of ``srun``."""
    per_node = plan.ranks_per_node
    masks = ",".join(pu_mask(seat.pus) for seat in plan.seats)
    words = [
        "srun",
        f"--nodes={plan.nodes}",
        f"--ntasks={plan.request.ranks}",
        f"--ntasks-per-node={per_node}",
        f"--cpus-per-task={max(1, len(plan.topology.pus) // per_node)}",
        "--exclusive",
        "--distribution=block:block",
        f"--cpu-bind=mask_cpu:{masks}",
    ]
    if len(plan.topology.numa_nodes) > 1:
        words.append("--mem-bind=local")
    if plan.request.hosts:
        words.append(f"--nodelist={','.join(plan.request.hosts[: plan.nodes])}")
    if plan.seats[0].gpu >= 0:
        words += [
            f"--gpus-per-node={len(plan.gpus)}",
            "--gpu-bind=map_gpu:" + ",".join(str(seat.gpu) for seat in plan.seats),
        ]
    return Emission(tuple(words), openmp_variables(plan))

"""Slurm's ``srun``: a mask for each task of a node, and a step that has all CPUs which the masks name.

Slurm 22.05 refuses a mask that reaches outside of the step; earlier ones cut it, down to core 0 when nothing
was left. With ``-c`` a step gets that many CPUs for each task, from the first core on, and whole cores: so
``-c`` shares out the node, in multiples of a core, or no step fits. Where the rest of that division is
needed, a step without ``-c`` has the whole node, if the job has. Where the last node has fewer ranks Slurm
evens them out, whatever ``--ntasks-per-node`` says, unless they come in planes. ``-c`` counts hardware
threads where Slurm knows of them: of cores that differ in their number it knows the first one each.
"""

from collections.abc import Sequence
from dataclasses import replace

from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_mask
from mpiric.placement.emission._uneven import bound_inside, hosts_with_ranks, ranks_in_all
from mpiric.placement.openmp import openmp_variables

_HOSTS = "srun.hostfile"  # one line a rank


def emit(plan: Plan) -> Emission:
    """Options of ``srun``."""
    per_node, cores = plan.ranks_per_node, plan.topology.cores
    known = min(len(core.pus) for core in cores)
    even = all(len(core.pus) == known for core in cores)
    if not even:
        known = 1
    slurms = {pu for core in cores for pu in core.pus[:known]}
    seats = [tuple(pu for pu in seat.pus if pu in slurms) or seat.pus for seat in plan.seats]
    each = max(1, len(cores) * known // per_node // known * known)
    shared = {pu for core in cores[: -(-each * per_node // known)] for pu in core.pus[:known]}
    ragged = bool(plan.request.ranks % per_node)
    whole = ragged or any(pu not in shared for seat in seats for pu in seat)
    words = [
        "srun",
        f"--nodes={plan.nodes}",
        f"--ntasks={plan.request.ranks}",
        *(() if ragged else (f"--ntasks-per-node={per_node}",)),
        *(() if whole else (f"--cpus-per-task={each}", "--exclusive")),
        f"--distribution={f'plane={per_node}' if ragged else 'block:block'}",
        f"--cpu-bind=mask_cpu:{','.join(pu_mask(seat) for seat in seats)}",
    ]
    if len(plan.topology.numa_nodes) > 1:
        words.append("--mem-bind=local")
    if plan.hosts:
        words.append(f"--nodelist={','.join(plan.hosts)}")
    if plan.seats[0].gpu >= 0:
        words += [
            f"--gpus-per-node={len(plan.gpus)}",
            "--gpu-bind=map_gpu:" + ",".join(str(seat.gpu) for seat in plan.seats),
        ]
    said = (
        "within a job that has its nodes to itself (sbatch --exclusive)" if whole else "",
        "" if even else "Slurm knows one hardware thread of each core here",
    )
    return Emission(tuple(words), openmp_variables(plan), exact=even, note="; ".join(filter(None, said)))


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Counts of ranks that differ come from ``SLURM_HOSTFILE``; a list of masks starts anew on every host."""
    hosts = hosts_with_ranks(plans)
    words = (
        "srun",
        f"--nodes={len(hosts)}",
        f"--ntasks={ranks_in_all(plans)}",
        f"--nodelist={','.join(host for host, _ in hosts)}",
        "--distribution=arbitrary",
        "--cpu-bind=none",
    )
    inside = bound_inside(plans, words)
    return replace(
        inside,
        env={"SLURM_HOSTFILE": _HOSTS, **inside.env},
        files={**inside.files, _HOSTS: "".join(f"{host}\n" * count for host, count in hosts)},
        note=f"within a job that has its nodes to itself (sbatch --exclusive); {inside.note}",
    )

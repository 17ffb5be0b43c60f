"""The Slurm allocation a process is in, from SLURM_* variables.

Source: sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"; salloc(1); srun(1) of Slurm 22.05.
"""

from collections.abc import Mapping

from mpiric.model.allocation import AllocatedHost, Allocation
from mpiric.model.errors import MpiricError
from mpiric.model.host_list import counts_of, hosts_of
from mpiric.model.numbers_in_text import count_of


def recognise(environment: Mapping[str, str]) -> Allocation | None:
    """The allocation, None outside of one. Raises MpiricError for variables that contradict each other."""
    job = environment.get("SLURM_JOB_ID") or environment.get("SLURM_JOBID")
    names = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST")
    if not job or not names:
        return None
    hosts = hosts_of(names)
    cpus = _per_host(environment.get("SLURM_JOB_CPUS_PER_NODE", ""), len(hosts), "SLURM_JOB_CPUS_PER_NODE")
    per_rank = count_of(environment.get("SLURM_CPUS_PER_TASK", "")) or 1
    # In a step, the variable refers to the step, which may use fewer hosts than the job.
    in_step = "SLURM_STEP_ID" in environment and "SLURM_PROCID" in environment
    tasks = "" if in_step else environment.get("SLURM_TASKS_PER_NODE", "")
    slots = _per_host(tasks, len(hosts), "SLURM_TASKS_PER_NODE") or tuple(count // per_rank for count in cpus)
    return Allocation(
        scheduler="slurm",
        job=job,
        hosts=tuple(
            AllocatedHost(name, max(1, slots[at]) if slots else 1, cpus[at] if cpus else 0)
            for at, name in enumerate(hosts)
        ),
        launch_words=("srun",),
        cpus_per_rank=per_rank,
        partition=environment.get("SLURM_JOB_PARTITION", ""),
        restarts=count_of(environment.get("SLURM_RESTART_COUNT", "")),
    )


def _per_host(text: str, hosts: int, variable: str) -> tuple[int, ...]:
    counts = counts_of(text) if text else ()
    if counts and len(counts) != hosts:
        raise MpiricError(
            f"{variable}={text} has {len(counts)} hosts, but the allocation has {hosts}",
            hint="were SLURM_* variables of another job exported? Unset them, or start from a new shell",
        )
    return counts

"""PBS Professional, OpenPBS and Torque: recognised by the node file they give a job.

Source: PBS Professional User's Guide, "The Machine File": a line for every rank, names repeated;
Torque writes a line for every core.
"""

from collections import Counter
from collections.abc import Mapping

from mpiric.model.allocation import AllocatedHost, Allocation
from mpiric.model.count import count_of
from mpiric.model.errors import MpiricError
from mpiric.schedulers._scheduler import ReadText, Scheduler


def _recognise(environment: Mapping[str, str], read: ReadText) -> Allocation | None:
    job, file = environment.get("PBS_JOBID"), environment.get("PBS_NODEFILE")
    if not job or not file:
        return None
    text = read(file)
    lines = Counter(line.strip() for line in (text or "").splitlines() if line.strip())
    if not lines:
        raise MpiricError(
            f"PBS_NODEFILE names {file}, which cannot be read or is empty",
            hint="it is on the job's first host only: run mpiric in the job script itself",
        )
    threads = environment.get("OMP_NUM_THREADS", "")
    cpus = environment.get("NCPUS", "") or environment.get("PBS_NUM_PPN", "")
    return Allocation(
        scheduler="pbs",
        job=job,
        hosts=tuple(AllocatedHost(name, count, count_of(cpus)) for name, count in lines.items()),
        launch_words=("mpiexec",),
        cpus_per_rank=max(1, count_of(threads)),
        partition=environment.get("PBS_QUEUE", ""),
    )


SCHEDULER = Scheduler("pbs", _recognise)

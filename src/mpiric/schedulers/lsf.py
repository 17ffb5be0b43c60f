"""IBM Spectrum LSF: recognised by the hosts it writes into a job's environment.

Source: LSF Configuration Reference, "Environment variables set for job execution". LSB_MCPU_HOSTS holds
pairs of a name and a number of slots; LSB_DJOB_HOSTFILE names a file with a line for each slot, which is
there for jobs too large for a variable.
"""

from collections import Counter
from collections.abc import Mapping

from mpiric.model.allocation import AllocatedHost, Allocation
from mpiric.model.count import count_of
from mpiric.model.errors import MpiricError
from mpiric.schedulers._scheduler import ReadText, Scheduler


def _recognise(environment: Mapping[str, str], read: ReadText) -> Allocation | None:
    job = environment.get("LSB_JOBID")
    if not job:
        return None
    slots = _slots(environment, read)
    if not slots:
        return None
    return Allocation(
        scheduler="lsf",
        job=job,
        hosts=tuple(AllocatedHost(name, count) for name, count in slots.items()),
        launch_words=("mpirun",),
        partition=environment.get("LSB_QUEUE", ""),
    )


def _slots(environment: Mapping[str, str], read: ReadText) -> Mapping[str, int]:
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if words:
        names, counts = words[::2], words[1::2]
        if len(names) != len(counts) or not all(map(count_of, counts)):
            raise MpiricError(
                f"LSB_MCPU_HOSTS cannot be read: {' '.join(words)!r}", hint="it holds pairs: hostA 2 hostB 4"
            )
        return {name: int(count) for name, count in zip(names, counts, strict=True)}
    file = environment.get("LSB_DJOB_HOSTFILE", "")
    listed = (read(file) or "") if file else environment.get("LSB_HOSTS", "")
    return Counter(listed.split())


SCHEDULER = Scheduler("lsf", _recognise)

"""Base of all schedulers: name, and recognition of allocations."""

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation


class Scheduler:
    """Scheduler. If several recognise an allocation, the one with the lowest ``turn`` is used."""

    name = ""
    turn = 0

    def recognise(self, host: Host) -> Allocation | None:
        """Find the allocation this process is in, None when it is in none of this scheduler's.

        Raises MpiricError where the environment is the scheduler's, but contradicts itself.
        """
        raise NotImplementedError

"""What every scheduler has: a name, and a way to recognise its allocations."""

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation


class Scheduler:
    """One scheduler. Of several that recognise an allocation, the one with the lowest ``turn`` counts."""

    name = ""
    turn = 0

    def recognise(self, host: Host) -> Allocation | None:
        """Find the allocation this process is in, None when it is in none of this scheduler's.

        Raises MpiricError where the environment is the scheduler's, but contradicts itself.
        """
        raise NotImplementedError

"""No scheduler: launches run on this machine."""

from re import MULTILINE, search

from mpiric.host.host import Host
from mpiric.model.batch import AllocatedHost, Allocation
from mpiric.model.machine import parse_pu_list
from mpiric.schedulers._scheduler import Scheduler


class Local(Scheduler):
    """Placeholder for a machine without a scheduler."""

    name = "local"
    turn = 100

    def recognise(self, host: Host) -> Allocation:
        """Return this machine, with the CPUs of this process's affinity."""
        name = (host.read_text("/proc/sys/kernel/hostname") or "localhost").strip()
        match = search(r"^Cpus_allowed_list:\s*(\S+)", host.read_text("/proc/self/status") or "", MULTILINE)
        cpus = len(parse_pu_list(match[1])) if match else 1
        return Allocation("local", "", (AllocatedHost(name, cpus, cpus),), launch_words=("mpirun",))


SCHEDULER = Local()

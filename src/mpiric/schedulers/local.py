"""No scheduler: launches run on this machine."""

from collections.abc import Mapping
from re import MULTILINE, search

from mpiric.model.allocation import AllocatedHost, Allocation
from mpiric.model.pu_set import parse_pu_list
from mpiric.schedulers._scheduler import ReadText, Scheduler


def _recognise(environment: Mapping[str, str], read: ReadText) -> Allocation:  # noqa: ARG001
    name = (read("/proc/sys/kernel/hostname") or "localhost").strip()
    cpus = _usable_cpus(read("/proc/self/status") or "")
    return Allocation("local", "", (AllocatedHost(name, cpus, cpus),), launch_words=("mpirun",))


def _usable_cpus(status: str) -> int:
    """CPUs of this process's affinity, from ``/proc/self/status``; 1 when it does not say."""
    match = search(r"^Cpus_allowed_list:\s*(\S+)", status, MULTILINE)
    return len(parse_pu_list(match[1])) if match else 1


SCHEDULER = Scheduler("local", _recognise, turn=100)

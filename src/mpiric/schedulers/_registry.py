"""The schedulers there are: one for every file of this folder."""

from functools import cache
from importlib import import_module

from mpiric.host.host import Host
from mpiric.model.allocation import Allocation
from mpiric.model.registry import modules_of
from mpiric.schedulers._scheduler import Scheduler


@cache
def schedulers() -> dict[str, Scheduler]:
    """Name → scheduler, in alphabetical order."""
    modules = modules_of(import_module("mpiric.schedulers"))
    return {name: module.SCHEDULER for name, module in modules.items()}


def find_allocation(host: Host) -> Allocation:
    """The allocation this process is in; this machine alone when it is in none."""
    for scheduler in sorted(schedulers().values(), key=lambda each: each.turn):
        allocation = scheduler.recognise(host.environ, host.read_text)
        if allocation is not None:
            return allocation
    raise AssertionError("local recognises everything")

"""One scheduler per file: its allocation recognised, its jobs submitted and followed where mpiric can."""

from mpiric.schedulers._registry import find_allocation, schedulers
from mpiric.schedulers._scheduler import Scheduler

__all__ = ["Scheduler", "find_allocation", "schedulers"]

"""Detect other processes that take CPUs from a launch, by the CPU time of the node and of the launch."""

import os
import time
from dataclasses import field
from pathlib import Path

from mpiric.model.dataclass import dataclass
from mpiric.model.run import Usage

_PROC_STAT = "/proc/stat"
_BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; guest times are part of user and nice
_LEAST_CPUS = 0.1  # average of other processes; daemons of a quiet node use less
_LEAST_PREEMPTIONS = 20.0  # per second
_LEAST_S = 0.1  # resolution of CPU accounts


@dataclass(frozen=True)
class LoadWatch:
    """CPU time of the node from now on; ranks on other nodes or below a scheduler's daemon are ignored."""

    begun_s: float = field(default_factory=time.monotonic)
    busy_s: float | None = field(default_factory=lambda: busy_cpu_s())
    own_s: float = field(default_factory=time.process_time)

    def is_disturbed(self, usage: Usage) -> bool:
        """Return whether others used CPUs while processes of a launch with this usage lost theirs."""
        span_s, busy_s = time.monotonic() - self.begun_s, busy_cpu_s()
        if self.busy_s is None or busy_s is None or span_s < _LEAST_S:
            return False
        launch_s = usage.user_s + usage.system_s
        others_s = busy_s - self.busy_s - launch_s - (time.process_time() - self.own_s)
        return others_s >= _LEAST_CPUS * span_s and usage.involuntary_switches >= _LEAST_PREEMPTIONS * span_s


def busy_cpu_s() -> float | None:
    """Return the CPU seconds that all processes of this node have used since its start; None if unknown."""
    try:
        first, _, _ = Path(_PROC_STAT).read_text(encoding="ascii").partition("\n")
        ticks = [int(word) for word in first.split()[1:]]
        return sum(ticks[index] for index in _BUSY) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None

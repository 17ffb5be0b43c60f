"""Result of one launch, with its resource usage."""

from dataclasses import dataclass

from mpiric.model.situation import RankSeen
from mpiric.model.trial import Outcome


@dataclass(frozen=True)
class Usage:
    """Resource usage of all processes of a launch, measured by getrusage; times in seconds."""

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0


@dataclass(frozen=True)
class Execution:
    """Launch that has ended; none of its processes is left on this node."""

    outcome: Outcome  # OK, FAILED, TIMED_OUT, INTERRUPTED, or REFUSED if it could not be started
    wall_s: float  # time from just before fork to the end of the launcher
    exit_status: int  # negative: number of the signal that ended it
    reason: str = ""  # a sentence unless the outcome is OK
    usage: Usage = Usage()
    rss_peak_bytes: int = 0  # maximum over the processes
    ranks: tuple[RankSeen, ...] = ()  # if observed: an entry for each rank, in rank order
    strays: tuple[str, ...] = ()  # names of processes that outlived the launcher and were terminated
    stuck: tuple[str, ...] = ()  # names of processes that SIGKILL could not end
    started_ns: int = 0  # CLOCK_MONOTONIC of this host just before fork
    came_early: bool = False  # ended early, because the required data was complete

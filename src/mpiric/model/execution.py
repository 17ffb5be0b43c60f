"""One launch that was run, and what it used."""

from dataclasses import dataclass

from mpiric.model.situation import RankSeen
from mpiric.model.trial import Outcome


@dataclass(frozen=True)
class Usage:
    """What all processes of a launch used together, by getrusage; times in seconds."""

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0


@dataclass(frozen=True)
class Execution:
    """One launch that has ended, with nothing of it left running on this node."""

    outcome: Outcome  # OK, FAILED, TIMED_OUT, INTERRUPTED, or REFUSED when it could not be started
    wall_s: float  # from just before fork to the end of the launcher
    exit_status: int  # negative: ended by that signal
    reason: str = ""  # one sentence unless the outcome is OK
    usage: Usage = Usage()
    rss_peak_bytes: int = 0  # of the largest single process
    ranks: tuple[RankSeen, ...] = ()  # when observed: one for each rank, in rank order
    strays: tuple[str, ...] = ()  # names of processes that outlived the launcher and were ended
    stuck: tuple[str, ...] = ()  # names of processes that not even SIGKILL could end
    started_ns: int = 0  # CLOCK_MONOTONIC of this host just before the fork
    came_early: bool = False  # it ended where all was known that it was run for
    disturbed: bool = False  # other processes of this node took CPUs from it

"""Allocation: the hosts a scheduler has given, and how its jobs fare."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class AllocatedHost:
    """One host of an allocation."""

    name: str
    slots: int  # ranks it is meant to take
    cpus: int = 0  # CPUs granted there, as the scheduler counts them; 0 when it does not say


@dataclass(frozen=True)
class Allocation:
    """Where launches run."""

    scheduler: str  # registry key in schedulers/
    job: str  # the scheduler's name of it, "" outside a job
    hosts: tuple[AllocatedHost, ...]  # in the scheduler's order
    launch_words: tuple[
        str, ...
    ] = ()  # what starts ranks on all of its hosts: srun, or the MPI's own launcher
    cpus_per_rank: int = 1
    partition: str = ""
    restarts: int = 0  # how often the scheduler has begun this job again

    @property
    def slots(self) -> int:
        """Ranks on all hosts together."""
        return sum(host.slots for host in self.hosts)


class Stage(str, Enum):
    """How far a submitted job is."""

    WAITING = "waiting"  # also again, after a requeue
    RUNNING = "running"
    ENDING = "ending"  # no longer running, not yet accounted for
    ENDED = "ended"
    FORGOTTEN = "forgotten"  # it ended so long ago that the scheduler no longer knows how


class End(str, Enum):
    """Why a submitted job is over."""

    COMPLETED = "completed"  # by itself, with exit status 0
    FAILED = "failed"  # by itself, with another one
    CANCELLED = "cancelled"  # by a person
    TIME_LIMIT = "time limit"
    MEMORY = "out of memory"
    HOST_FAILED = "host failed"
    PREEMPTED = "preempted"


@dataclass(frozen=True)
class BatchJob:
    """State of one submitted job."""

    job: str
    stage: Stage
    state: str = ""  # the scheduler's own name for it: "PENDING", "NODE_FAIL", "CANCELLED"
    end: End | None = None  # None while it is not over, or when the scheduler does not say
    reason: str = ""
    hosts: tuple[str, ...] = ()
    exit_status: int | None = None  # of the script, once it has ended; 128 + N when signal N ended it
    restarts: int = 0

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself and well."""
        return self.end is End.COMPLETED and self.exit_status == 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.stage in {Stage.ENDED, Stage.FORGOTTEN}


@dataclass(frozen=True)
class RunFailure:
    """What a scheduler knows of a run that failed in its allocation; empty where the program is to blame."""

    lost_hosts: tuple[str, ...] = ()  # down, or no process can be started there any more
    excuse: str = ""  # why the failure says nothing about the program's settings

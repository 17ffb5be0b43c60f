"""Hosts that a scheduler allocated to a job, and the states of submitted jobs."""

from enum import Enum

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class AllocatedHost:
    """Host of an allocation."""

    name: str
    slots: int  # number of ranks that the host should run
    cpus: int = 0  # CPUs that the scheduler granted on this host; 0 if it does not report them


@dataclass(frozen=True)
class Allocation:
    """Hosts of a batch job, on which mpiric can start launches."""

    scheduler: str  # name of a module in schedulers/
    job: str  # job ID of the scheduler, "" outside a job
    hosts: tuple[AllocatedHost, ...]  # order of the scheduler
    launch_words: tuple[str, ...] = ()  # start command of a launch on all hosts: srun, or the MPI's launcher
    cpus_per_rank: int = 1
    partition: str = ""
    restarts: int = 0  # number of times that the scheduler restarted this job

    @property
    def slots(self) -> int:
        """Return the number of slots of all hosts."""
        return sum(host.slots for host in self.hosts)


class Stage(str, Enum):
    """State of a submitted job."""

    WAITING = "waiting"  # also after a requeue
    RUNNING = "running"
    ENDING = "ending"  # no longer running, accounting data not yet available
    ENDED = "ended"
    FORGOTTEN = "forgotten"  # ended too long ago: the scheduler has deleted its record


class End(str, Enum):
    """Reason why a submitted job ended."""

    COMPLETED = "completed"  # exit status 0
    FAILED = "failed"  # exit status other than 0
    CANCELLED = "cancelled"  # cancelled by a user
    TIME_LIMIT = "time limit"
    MEMORY = "out of memory"
    HOST_FAILED = "host failed"
    PREEMPTED = "preempted"


@dataclass(frozen=True)
class BatchJob:
    """State of one submitted job, as the scheduler reports it."""

    job: str
    stage: Stage
    state: str = ""  # state name of the scheduler: "PENDING", "NODE_FAIL", "CANCELLED"
    end: End | None = None  # None until the job ends, or if the scheduler does not report it
    reason: str = ""
    hosts: tuple[str, ...] = ()
    exit_status: int | None = None  # exit status of the script after its end; 128 + N if signal N ended it
    restarts: int = 0

    @property
    def succeeded(self) -> bool:
        """Return whether the job ended with exit status 0."""
        return self.end is End.COMPLETED and self.exit_status == 0

    @property
    def is_over(self) -> bool:
        """Return whether the job has reached a final state."""
        return self.stage in {Stage.ENDED, Stage.FORGOTTEN}


@dataclass(frozen=True)
class RunFailure:
    """Information of a scheduler about a run that failed in its allocation; empty if the program failed."""

    lost_hosts: tuple[str, ...] = ()  # hosts that are down or cannot start processes any more
    excuse: str = ""  # reason why the failure does not depend on the program's settings

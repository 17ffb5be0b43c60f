"""Batch jobs: hosts of an allocation, host lists, states of submitted jobs, lines of a job script."""

from enum import Enum
from math import prod
from re import findall, fullmatch

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError


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


@dataclass(frozen=True)
class NodeShape:
    """Hardware of one kind of node."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int = 1

    @property
    def cores(self) -> int:
        """Return the number of physical cores."""
        return self.sockets * self.cores_per_socket


@dataclass(frozen=True)
class BatchLayout:
    """Distribution of a job's ranks and threads over its nodes."""

    nodes: int
    ranks: int
    ranks_per_node: int  # maximum: the last node may have fewer
    threads_per_rank: int
    cores_per_rank: int  # cores of the node per rank; more than threads_per_rank if cores stay idle
    bandwidth_bound: bool = False  # some cores stay idle on purpose
    alternates: bool = False  # ranks are assigned to the sockets in turn, as cores of each socket stay idle
    gpus_per_node: int = 0

    @property
    def kind(self) -> str:
        """Return ``pure MPI`` or ``hybrid``, with ``, bandwidth-bound`` if cores stay idle on purpose."""
        kind = "hybrid" if self.threads_per_rank > 1 else "pure MPI"
        return f"{kind}, bandwidth-bound" if self.bandwidth_bound else kind

    @property
    def gpu_of_rank(self) -> tuple[int, ...]:
        """Return the GPU of each rank of a node for ranks that fill one socket after the other."""
        ranks, gpus = self.ranks_per_node, self.gpus_per_node
        return tuple(rank * gpus // ranks for rank in range(ranks if gpus else 0))


@dataclass(frozen=True)
class ScriptLine:
    """Line of a job script and the reason for it; "" if the line explains itself."""

    text: str
    why: str = ""


@dataclass(frozen=True)
class ScriptCheck:
    """Answer of the scheduler to a test submission of a script."""

    accepted: bool
    message: str


@dataclass(frozen=True)
class Spread:
    """Distribution of runs over the jobs of a job array."""

    jobs: int
    at_once: int = 0  # maximum number of jobs that run at the same time; 0: no limit
    each_s: float = 900.0  # measuring time of one job


_MOST_HOSTS = 1_000_000
_MOST_DIGITS = 18
_NAME = r"[\w.\[][\w.,/:\[\]-]*"


def hosts_of(text: str) -> tuple[str, ...]:
    """Expand ``n[1-3,7],login`` to host names in the written order, which is also the order of the counts."""
    parts = findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+", text)
    if sum(map(_count, parts)) > _MOST_HOSTS:
        raise MpiricError(f"this host list names more than {_MOST_HOSTS} hosts: {text!r}", hint="name fewer")
    if ",".join(parts) != text or not all(fullmatch(_NAME, part) for part in parts):
        raise MpiricError(f"this host list cannot be read: {text!r}", hint="it looks like n[1-4,7],login")
    try:
        return tuple(
            name
            for part in parts
            for name in NodeSet(part, resolver=RESOLVER_NOGROUP)  # type: ignore[no-untyped-call]
        )
    except (NodeSetParseError, AssertionError) as error:  # AssertionError for ranges past a billion
        raise MpiricError(f"this host list cannot be read: {text!r}", hint=str(error)) from error


def _count(part: str) -> int:
    """Return an upper bound of the number of hosts that a part names: ``r[1-4]n[1-8]`` gives 32."""
    widths = [
        sum(_width(item) for item in brackets.split(",")) for brackets in findall(r"\[([^\[\]]*)\]", part)
    ]
    return prod(min(width, _MOST_HOSTS + 1) for width in widths)


def _width(item: str) -> int:
    """Return the size of the range ``1-4`` or of the number ``7``, at least 1."""
    ends = fullmatch(r"(\d+)-(\d+)(?:/\d+)?", item.strip())
    if ends is None:
        return 1
    if max(len(ends[1]), len(ends[2])) > _MOST_DIGITS:
        return _MOST_HOSTS + 1
    return max(1, int(ends[2]) - int(ends[1]) + 1)


def counts_of(text: str) -> tuple[int, ...]:
    """Expand counts: ``2(x3),1`` → 2, 2, 2, 1."""
    counts: list[int] = []
    for part in text.split(","):
        match = fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if match is None:
            raise MpiricError(f"these counts cannot be read: {text!r}", hint="they look like 2(x3),1")
        counts += [int(match[1])] * int(match[2] or 1)
    return tuple(counts)

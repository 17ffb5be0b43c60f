"""The programs of `answers`: phases of `phases.c`, and the causes that make each slow."""

from dataclasses import dataclass

from benchmarks._answers_causes import MPIS, Cause, cause_of


@dataclass(frozen=True)
class Program:
    """A program; it is used under the libraries that have all of its causes."""

    name: str
    phases: str
    causes: tuple[str, ...] = ()
    ranks_per_cpu: int = 1
    threaded: bool = False  # linked with OpenMP

    def causes_under(self, mpi: str) -> tuple[Cause, ...] | None:
        """Return the causes under a library; None if one of them does not exist there."""
        causes = [cause_of(name, mpi) for name in self.causes]
        existing = tuple(cause for cause in causes if cause is not None)
        return existing if len(existing) == len(causes) else None


@dataclass(frozen=True)
class Case:
    """A program under one library."""

    program: Program
    mpi: str  # beginning of a label
    causes: tuple[Cause, ...]

    @property
    def name(self) -> str:
        """The name that ``--only`` matches."""
        return self.program.name


PROGRAMS = (
    # Each known cause alone.
    Program("large blocks given back", "churn:48m:1:6 compute:10000", ("memory",)),
    Program("many blocks given back", "churn:256k:64:20 compute:10000", ("small blocks",)),
    Program("scattered access", "random:64m:2500", ("pages",)),
    Program("unbound, latency", "pingpong:8:30000", ("unbound",)),
    Program("crowded allreduce", "allreduce:512k:5", ("waiting",), ranks_per_cpu=2),
    Program("crowded neighbours", "halo:1k:100 barrier:50", ("waiting",), ranks_per_cpu=2),
    Program("loopback bandwidth", "halo:1m:60", ("loopback",)),
    Program("loopback latency", "pingpong:64:5000", ("loopback",)),
    Program("late receiver", "late:32k:200:500", ("eager",)),
    Program("two copies", "halo:4m:30", ("single copy",)),
    Program("segmented broadcast", "bcast:1m:100", ("bcast",)),
    Program("bruck for large blocks", "alltoall:1m:60", ("alltoall",)),
    Program("too many threads", "threads:2000:1000", ("threads",), threaded=True),
    # Nothing to gain but start-up.
    Program("start-up alone", "compute:10000", ("start",)),
    Program("start-up and latency", "pingpong:8:20000 barrier:1000", ("start",)),
    # Nothing to gain.
    Program("computes", "compute:60000"),
    Program("streams", "stream:32m:10"),
    Program("exchanges", "halo:64k:4000 compute:10000"),
    Program("reduces", "allreduce:8:40000 compute:10000"),
    # Pairs.
    Program("blocks and latency", "churn:48m:1:6 pingpong:8:20000", ("memory", "unbound")),
    Program("blocks and crowd", "churn:48m:1:5 allreduce:512k:3", ("memory", "waiting"), ranks_per_cpu=2),
    Program("blocks and loopback", "churn:48m:1:8 halo:1m:40", ("memory", "loopback")),
    Program("broadcast and late receiver", "bcast:1m:60 late:32k:200:500", ("bcast", "eager")),
    Program("blocks and start-up", "churn:48m:1:6", ("memory", "start")),
)

QUICK = ("large blocks given back", "unbound, latency", "computes", "blocks and latency")


def cases() -> tuple[Case, ...]:
    """Return every program under every library that has all of its causes."""
    candidates = ((program, mpi, program.causes_under(mpi)) for program in PROGRAMS for mpi in MPIS)
    return tuple(Case(program, mpi, causes) for program, mpi, causes in candidates if causes is not None)

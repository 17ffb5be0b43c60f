"""The options of a sweep, and the collectives that it can measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

USUAL = (  # what applications spend their time in
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
    "scatterv",
)
_BLOCKING = (*USUAL, "exscan", "scan")
NONBLOCKING = tuple(f"i{name}" for name in sorted(_BLOCKING))
COLLECTIVES = (*sorted(_BLOCKING), *NONBLOCKING)  # those that the probe can call
GROUPS = {"usual": USUAL, "nonblocking": NONBLOCKING, "all": COLLECTIVES}
_LIMIT_S = 120.0  # of a launch, and as much again for each point


@dataclass(frozen=True)
class SweepRequest:
    """The options of `mpiric sweep`; ``argv`` is a launch line without a program."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path
    collectives: tuple[str, ...] = USUAL
    sizes: tuple[int, ...] = tuple(2**power for power in range(2, 23))
    ranks: tuple[int, ...] = ()  # empty: all, half of them, … 2
    per_node: tuple[int, ...] = ()  # empty: one, and as many as there are
    record: Path | None = None  # of `mpiric profile`: only calls and sizes that the program makes
    seconds: float = 0.05  # of one point
    budget_s: float | None = None
    limit_s: float | None = None  # of one launch; None: by the points in it
    thorough: bool = False  # every algorithm, not only those worth a whole program's trial
    own: bool = True  # mpiric's algorithms too, which need its runtime in the ranks
    resume: bool = False

    def patience_s(self, points: int) -> float:
        """How long one launch may take."""
        return self.limit_s or _LIMIT_S * (1 + points)

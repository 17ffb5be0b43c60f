"""Options of a sweep, and the collectives that it can measure."""

from collections.abc import Mapping
from pathlib import Path

from mpiric.model.dataclass import dataclass

USUAL = (  # most important collectives of applications
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
COLLECTIVES = (*sorted(_BLOCKING), *NONBLOCKING)  # collectives that the probe can call
GROUPS = {"usual": USUAL, "nonblocking": NONBLOCKING, "all": COLLECTIVES}
_LIMIT_S = 120.0  # time limit of a launch, plus as much for each point


@dataclass(frozen=True)
class SweepRequest:
    """The options of `mpiric sweep`; ``argv`` is a launch line without a program."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path
    collectives: tuple[str, ...] = USUAL
    sizes: tuple[int, ...] = tuple(2**power for power in range(2, 23))
    ranks: tuple[int, ...] = ()  # communicator sizes; empty for all ranks, half of them, … 2
    per_node: tuple[int, ...] = ()  # ranks per node; empty for one, and all
    record: Path | None = None  # record of `mpiric profile`, whose calls and sizes are measured
    seconds: float = 0.05  # time of measuring a point
    budget_s: float | None = None
    limit_s: float | None = None  # time limit of a launch; None to derive it from the points
    thorough: bool = False  # every algorithm and parameter, not only the usual ones
    own_algorithms: bool = True  # also mpiric's own algorithms, which need its runtime in the ranks
    resume: bool = False

    def patience_s(self, points: int) -> float:
        """Return the time limit of a launch of some points."""
        return self.limit_s or _LIMIT_S * (1 + points)

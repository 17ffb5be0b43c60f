"""Algorithm policy: the algorithm for (collective, communicator, size); see spec/formats/policy.md."""

import re
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise

from mpiric.model.dataclass import dataclass

FLAT_FORMAT = 1
LEARNED_FORMAT = 2
LIBRARY = "library"  # candidate that always exists: the library's default
ANY = "*"
ORDERS = ("block", "cyclic", "mixed")

BLOCKING = (
    "allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast exscan gather gatherv "
    "reduce reduce_scatter reduce_scatter_block scan scatter scatterv"
).split()


def _forms(*names: str) -> frozenset[str]:
    return frozenset(form for name in names for form in (name, f"i{name}", f"{name}_init"))


COLLECTIVES = _forms(*BLOCKING)  # names that a policy may contain
REDUCING = _forms("allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatter_block", "scan")
UNSIZED = _forms("barrier", "gatherv", "scatterv", "alltoallv", "alltoallw")  # their size is always 0
_WORD = r"[a-z][a-z0-9_]{0,63}"
_CANDIDATE = re.compile(rf"(library|(?:library|own):{_WORD})((?: {_WORD}=(?:[0-9]{{1,18}}|{_WORD}))*)")


@dataclass(frozen=True)
class Named:
    """Parsed name of a candidate: ``own:bruck radix=4``."""

    origin: str  # "library" or "own"
    algorithm: str = ""  # "" for the default of the library
    parameters: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def parse(text: str) -> "Named":
        """Parse a name. Raises ValueError unless it is a candidate in canonical form."""
        match = _CANDIDATE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:80]!r} is not a candidate")
        origin, _, algorithm = match[1].partition(":")
        pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in match[2].split()))
        keys = [key for key, _ in pairs]
        if keys != sorted(set(keys)) or (pairs and not algorithm):
            raise ValueError(f"the parameters of {text[:80]!r} must be in alphabetical order, each once")
        return Named(origin, algorithm, pairs)

    def __str__(self) -> str:
        head = f"{self.origin}:{self.algorithm}" if self.algorithm else self.origin
        return " ".join((head, *(f"{key}={value}" for key, value in self.parameters)))


@dataclass(frozen=True, order=True)
class Shape:
    """Ranks and nodes of a communicator; `placement` distinguishes parts of the job with equal shapes."""

    ranks: int
    nodes: int
    ranks_per_node: int
    order: str = "block"
    placement: str = ANY  # 16 hexadecimal digits, or any

    def anywhere(self) -> "Shape":
        """Return the shape for any part of the job."""
        return Shape(self.ranks, self.nodes, self.ranks_per_node, self.order)

    def __str__(self) -> str:
        where = f", {self.order}" if self.order != "block" else ""
        part = f", at {self.placement}" if self.placement != ANY else ""
        return f"{self.ranks} ranks on {self.nodes} node{'s' * (self.nodes != 1)}{where}{part}"


@dataclass(frozen=True)
class Measured:
    """Times of a candidate in seconds per call of the slowest rank: median and quartiles."""

    name: str
    calls: int
    median_s: float
    low_s: float
    high_s: float
    eliminated: bool = False
    preempted: float = 0.0  # share of the batches in which a rank lost its CPU


@dataclass(frozen=True)
class LearnedKey:
    """Measurements of a collective on one communicator in a range of sizes: start ≤ size < end."""

    collective: str
    shape: Shape
    start: int
    end: int | None  # None: no upper bound
    candidate: str
    decided: bool
    confidence: float
    calls: int
    learning_calls: int = 0
    learning_s: float = 0.0
    candidates: tuple[Measured, ...] = ()

    def time_of(self, candidate: str) -> Measured | None:
        """Return the times of a candidate, None if it was not tried."""
        return next((measured for measured in self.candidates if measured.name == candidate), None)

    @property
    def gain(self) -> float | None:
        """Return the library's time divided by the choice's time; None unless both were measured."""
        default, chosen = self.time_of(LIBRARY), self.time_of(self.candidate)
        return default.median_s / chosen.median_s if default and chosen and chosen.median_s > 0 else None


@dataclass(frozen=True)
class LearnedPolicy:
    """Evidence: all measurements of a run, of a sweep, or of several of them merged."""

    implementation: str
    version: str
    world: Shape  # shape of MPI_COMM_WORLD
    keys: tuple[LearnedKey, ...]
    written: str = ""  # ISO 8601, UTC
    machine: Mapping[str, str] = field(default_factory=dict)
    collective_s: float = 0.0
    learning_s: float = 0.0


@dataclass(frozen=True, order=True)
class Span:
    """Inclusive range of integers; without an upper bound if `high` is None."""

    low: int = 0
    high: int | None = None

    def __contains__(self, number: int) -> bool:
        return self.low <= number and (self.high is None or number <= self.high)


EVERY = Span()


@dataclass(frozen=True)
class Line:
    """Line of a policy: a set of calls, and the candidate for them."""

    collective: str
    candidate: str
    ranks: Span = EVERY
    nodes: Span = EVERY
    ranks_per_node: Span = EVERY
    order: str = ANY
    placement: str = ANY
    start: int = 0
    end: int | None = None

    def covers(self, collective: str, shape: Shape, size: int) -> bool:
        """Return whether the line applies to a call of this size on such a communicator."""
        return (
            self.collective == collective
            and shape.ranks in self.ranks
            and shape.nodes in self.nodes
            and shape.ranks_per_node in self.ranks_per_node
            and self.order in (ANY, shape.order)
            and self.placement in (ANY, shape.placement)
            and self.start <= size
            and (self.end is None or size < self.end)
        )


@dataclass(frozen=True)
class Policy:
    """Rules for the runtime: the first line that covers a call selects the candidate."""

    implementation: str
    version: str
    lines: tuple[Line, ...] = ()

    def choose(self, collective: str, shape: Shape, size: int) -> str | None:
        """Return the candidate for a call, None if no line covers it."""
        return next((line.candidate for line in self.lines if line.covers(collective, shape, size)), None)


def order_of(nodes: tuple[int, ...]) -> str:
    """Return the order of a communicator whose rank r is on node ``nodes[r]``, as the format defines it."""
    changes = sum(before != after for before, after in pairwise(nodes))
    count = len(set(nodes))
    if changes == count - 1:
        return "block"
    even = len(nodes) % count == 0 and all(nodes.count(node) == len(nodes) // count for node in set(nodes))
    repeats = all(nodes[rank] == nodes[rank - count] for rank in range(count, len(nodes)))
    return "cyclic" if even and repeats else "mixed"

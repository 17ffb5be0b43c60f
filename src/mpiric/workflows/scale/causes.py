"""Why a curve bends: efficiencies of recorded sizes in the terms of the POP model.

Core time outside MPI that grows from one size to another has these causes, told apart by the evidence that
the records hold, in this order:

- files: the share of file operations grows.
- clock frequency: the runtime's fixed computation, which uses no memory, takes longer by most of the growth.
- counted instructions: with a serial part, which every rank repeats, ranks execute as many instructions per
  second as before; with shared memory bandwidth they execute fewer, by the growth.
- ranks per node: as many as before, so that they share no more than before: a serial part. In weak scaling
  the serial part of a rank does not grow with their number, so that a growth on fuller nodes is memory.
- a third record with as many ranks per node as the larger size: the growth between these two is a serial
  part. The growth that it predicts for the fuller node is compared with the measured one.
"""

from collections.abc import Iterable
from math import log
from statistics import median

from mpiric.lab.directory_runs import Recorded
from mpiric.model.amount import share
from mpiric.model.dataclass import dataclass
from mpiric.model.record import RankRecord
from mpiric.model.scaling import Factors, Size, SizeResult
from mpiric.profile.cells import fact

_NOTICED = 0.97  # ratio of a factor at two sizes below which it is a cause
_FILES = 0.05  # growth of the share of file operations that is a cause
_MOST = 0.5  # part of the logarithm of a growth from which an effect is its cause
_COMPUTES = 0.8  # smallest share of the time outside MPI for which instructions belong to the program


def factors_of(size: Size, recorded: Recorded) -> Factors:
    """Return the efficiencies of a recorded run."""
    profile, ranks = recorded.profile, recorded.record.ranks
    efficiencies = profile.efficiencies
    time_s = sum(rank.wall_s for rank in profile.ranks)
    files = sum(rank.io_s for rank in profile.ranks) / time_s if time_s else 0.0
    instructions = [fact(rank, "counter.instructions") for rank in ranks]
    has_counted = all(instructions) and efficiencies.parallel >= _COMPUTES and time_s
    return Factors(
        size,
        efficiencies.load_balance,
        efficiencies.serialisation,
        efficiencies.transfer,
        files,
        efficiencies.parallel,
        sum(instructions) / time_s if has_counted else 0.0,
        _reference_us(ranks),
    )


def _reference_us(ranks: Iterable[RankRecord]) -> float:
    """Return the median time of the fixed computation, at the end if all ranks reached it."""
    for name in ("reference.end_ns", "reference.begin_ns"):
        times = [fact(rank, name) for rank in ranks]
        if times and all(times):
            return median(times) / 1e3
    return 0.0


@dataclass(frozen=True)
class RecordedSize:
    """Measured time and record of a size."""

    result: SizeResult
    factors: Factors

    @property
    def per_node(self) -> float:
        """Return the cores that the ranks and threads of a node use."""
        return self.result.size.cores / self.result.size.nodes

    def core_s(self, *, is_weak: bool) -> float:
        """Return the core time outside MPI for the same work."""
        each_s = self.result.time_s.value * self.factors.useful
        return each_s if is_weak else each_s * self.result.size.cores


def causes_of(
    small: RecordedSize, large: RecordedSize, further: Iterable[RecordedSize] = (), *, is_weak: bool
) -> list[str]:
    """Return the causes of the loss of efficiency from the smaller to the larger size, the largest first.

    The loss is the product of the changes of load balance, serialisation, transfer and useful time; the last
    one is what remains of the measured efficiency. ``further`` are other recorded sizes of the curve.
    """
    efficiency = large.result.efficiency.value / small.result.efficiency.value
    before, after = small.factors, large.factors
    useful = _ratio(after.useful, before.useful)
    losses = {
        "load balance": _ratio(after.load_balance, before.load_balance),
        "waiting": _ratio(after.serialisation, before.serialisation),
        "transfer": _ratio(after.transfer, before.transfer),
        "computing": efficiency / useful if useful else 1.0,
    }
    sentences = {
        "load balance": "ranks have unequal work: some compute longer, and the others wait for them",
        "waiting": "ranks wait in MPI for one another or for late messages (serialisation)",
        "transfer": "messages take a larger share of the time: transfer between ranks",
        "computing": _computing(small, large, further, 1 / losses["computing"], is_weak=is_weak),
    }
    ordered = sorted((ratio, name) for name, ratio in losses.items() if ratio < _NOTICED)
    return [f"{sentences[name]} (efficiency × {ratio:.2f})" for ratio, name in ordered]


def _computing(
    small: RecordedSize, large: RecordedSize, further: Iterable[RecordedSize], growth: float, *, is_weak: bool
) -> str:
    """Return why the core time outside MPI grows by a factor."""
    before, after = small.factors, large.factors
    if after.files - before.files > _FILES:
        return f"file operations take {share(after.files)} of the time instead of {share(before.files)}"
    more = "computing takes more time" if is_weak else "computing takes more core time in total"
    memory = f"{more}: the cores of a node share memory bandwidth"
    serial = f"{more}: every rank repeats a serial part"
    if not is_weak:
        repeated = (growth - 1) / (large.result.size.cores / small.result.size.cores - 1)
        serial += f", about {share(repeated)} of its computing with {small.result.size}"
    slower = _ratio(after.reference_us, before.reference_us)
    if _is_most(slower, growth):
        return (
            f"{more}: the cores of a node have a lower clock frequency, or share units, while more of them "
            f"compute (a fixed computation takes {slower:.2f} times as long)"
        )
    if before.instructions_per_s and after.instructions_per_s:
        fewer = before.instructions_per_s / after.instructions_per_s
        rate = f" (ranks execute {1 / fewer:.2f} times as many instructions per second)"
        return (memory if _is_most(fewer, growth) else serial) + rate
    if large.per_node <= small.per_node:
        return f"{more}: ranks have more work than their share" if is_weak else serial
    if is_weak:
        return memory
    alike = [
        other
        for other in further
        if other.per_node == large.per_node and other.result.size.cores < large.result.size.cores
    ]
    if alike:
        expected = _serial_growth(small, alike[0], large)
        return memory if _is_most(growth / expected, growth) else serial
    return (
        f"{more}. Either the cores of a node share memory bandwidth, or every rank repeats a serial part; "
        "the same number of ranks on more nodes shows which"
    )


def _serial_growth(small: RecordedSize, full: RecordedSize, large: RecordedSize) -> float:
    """Return the growth from ``small`` to ``large`` by a serial part.

    The core time is W + s p; ``full`` and ``large`` share memory alike, so that W and s follow from the two.
    """
    sizes = [entry.result.size.cores for entry in (small, full, large)]
    times = [entry.core_s(is_weak=False) for entry in (full, large)]
    serial_s = max(0.0, times[1] - times[0]) / (sizes[2] - sizes[1])
    shared_s = max(1e-12, times[1] - serial_s * sizes[2])
    return (shared_s + serial_s * sizes[2]) / (shared_s + serial_s * sizes[0])


def _is_most(effect: float, growth: float) -> bool:
    """Return whether a factor explains most of a growth."""
    return effect > 1 and growth > 1 and log(effect) >= _MOST * log(growth)


def _ratio(after: float, before: float) -> float:
    return after / before if before else 1.0

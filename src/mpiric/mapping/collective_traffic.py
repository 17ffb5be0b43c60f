"""Traffic between the ranks of the world that the collective calls of a record cause.

A call uses the recorded algorithm, otherwise the library's choice by the thresholds in its source. MPICH:
src/mpi/coll and the variables MPIR_CVAR_*_MSG_SIZE; Open MPI: coll_tuned_decision_fixed.c, with the
thresholds of commutative operations. Intel MPI and other derivatives are assumed to choose as MPICH does.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from mpiric.mapping.collective_algorithms import ALGORITHMS, CallTraffic, all_pairs, is_power_of_two
from mpiric.model.dataclass import dataclass
from mpiric.model.mapping import CollectiveModel, Numbers, Weights
from mpiric.model.record import CommunicatorRow, Record

WITHIN_NODES = "within_nodes"  # first on each node, then between nodes; adapts to the rank order

_KIB = 1024


def library_choice(family: str, collective: str, ranks: int, size: float) -> str:
    """Return the algorithm of a call in which a rank has ``size`` bytes (as recorded)."""
    rules = _OPENMPI if family == "openmpi" else _MPICH
    return rules[collective](ranks, size)


def _mpich_bcast(ranks: int, size: float) -> str:
    if size < 512 * _KIB or ranks < 8:
        return WITHIN_NODES
    return "scatter_ring_allgather"


def _mpich_allgather(ranks: int, size: float) -> str:
    total = size * ranks
    if total < 80 * _KIB and not is_power_of_two(ranks):
        return "brucks"
    return "recursive_doubling" if total < 512 * _KIB and is_power_of_two(ranks) else "ring"


def _mpich_alltoall(ranks: int, size: float) -> str:
    return "brucks" if size / ranks <= 256 and ranks >= 8 else "scattered"


def _openmpi_bcast(ranks: int, size: float) -> str:
    if size < 2048 or ranks < 4:
        return "binomial"
    return "split_binary_tree" if size < 370728 else "pipeline"


def _openmpi_allgather(ranks: int, size: float) -> str:
    if size * ranks < 50000:
        return "recursive_doubling" if is_power_of_two(ranks) else "bruck"
    return "ring" if ranks % 2 else "neighbor"


def _openmpi_alltoall(ranks: int, size: float) -> str:
    block = size / ranks
    return "bruck" if block < 200 and ranks > 12 else "linear" if block < 3000 else "pairwise"


Rule = Callable[[int, float], str]


def _always(name: str) -> Rule:
    return lambda _ranks, _size: name


_MPICH: dict[str, Rule] = {
    "allreduce": _always(WITHIN_NODES),
    "barrier": _always(WITHIN_NODES),
    "reduce": _always(WITHIN_NODES),
    "bcast": _mpich_bcast,
    "allgather": _mpich_allgather,
    "allgatherv": _mpich_allgather,
    "alltoall": _mpich_alltoall,
    "alltoallv": _always("scattered"),
    "alltoallw": _always("scattered"),
    "reduce_scatter": lambda _, size: "recursive_halving" if size < 512 * _KIB else "pairwise",
    "reduce_scatter_block": lambda _, size: "recursive_halving" if size < 512 * _KIB else "pairwise",
    "gather": _always("binomial"),
    "gatherv": _always("linear"),
    "scatter": _always("binomial"),
    "scatterv": _always("linear"),
    "scan": _always("recursive_doubling"),
    "exscan": _always("recursive_doubling"),
}
_OPENMPI: dict[str, Rule] = {
    "allreduce": lambda _, size: "recursive_doubling" if size < 10000 else "ring",
    "barrier": lambda ranks, _: "recursive_doubling" if is_power_of_two(ranks) else "bruck",
    "reduce": lambda _, size: "binomial" if size < 32 * _KIB else "pipeline",
    "bcast": _openmpi_bcast,
    "allgather": _openmpi_allgather,
    "allgatherv": _openmpi_allgather,
    "alltoall": _openmpi_alltoall,
    "alltoallv": _always("pairwise"),
    "alltoallw": _always("linear"),
    "reduce_scatter": lambda _, size: "recursive_halving" if size < 64 * _KIB else "ring",
    "reduce_scatter_block": lambda _, size: "recursive_halving" if size < 64 * _KIB else "basic_linear",
    "gather": lambda ranks, size: (
        "binomial" if ranks > 60 or (ranks > 10 and size < 1024) else "basic_linear"
    ),
    "gatherv": _always("basic_linear"),
    "scatter": lambda ranks, size: "binomial" if ranks > 10 and size < 300 else "basic_linear",
    "scatterv": _always("basic_linear"),
    "scan": _always("linear"),
    "exscan": _always("linear"),
}


_NAME = re.compile(r"P?MPI_I?(?P<collective>[A-Za-z_]+?)(_init)?(_c)?")
_BY_SENDER = ("alltoallv", "alltoallw")  # ranks send different amounts: one model for all sizes together
_MOST_PAIRS = 2**22  # largest number of pairs of one call
_FOLLOW_THE_ORDER = re.compile(
    rf"smp|shared_memory|ipc_read|(node|shm)_.+|hierarchical|multilevel|{WITHIN_NODES}"
)
_SCHEDULED = re.compile(r"^(sched|tsp)_")  # MPICH's prefixes of the same algorithms in schedules
_EVERY_ORDER = "costs the same in every order"


@dataclass(frozen=True)
class CollectiveTraffic:
    """Traffic of all collective calls; a pair may occur several times."""

    sources: Numbers
    targets: Numbers
    bytes: Weights
    messages: Weights
    models: tuple[CollectiveModel, ...]


@dataclass(frozen=True)
class _Calls:
    """Calls of one collective on one communicator, of one size if all ranks have the same size."""

    collective: str
    members: Numbers  # world rank of each rank of the communicator
    is_world: bool
    calls: int
    bytes: Weights  # average size per member and call

    @property
    def size(self) -> int:
        return len(self.members)


def collective_traffic(record: Record) -> CollectiveTraffic:
    """Decompose every collective call into the messages of the algorithm that ran."""
    facts = record.ranks[0].facts if record.ranks else {}
    sources, targets, sizes, counts, models = [], [], [], [], []
    for calls in _calls(record):
        algorithm, source = _algorithm(calls, facts)
        sent_once = None if not algorithm else _messages(calls, algorithm)
        if sent_once is None:
            models.append(CollectiveModel(calls.collective, calls.size, calls.calls, "", source, 0.0))
            continue
        sent = float(sent_once.bytes.sum()) * calls.calls
        models.append(CollectiveModel(calls.collective, calls.size, calls.calls, algorithm, source, sent))
        sources.append(calls.members[sent_once.sources])
        targets.append(calls.members[sent_once.targets])
        sizes.append(sent_once.bytes * calls.calls)
        counts.append(np.full(len(sent_once.bytes), float(calls.calls)))
    none = np.zeros(0, dtype=np.int64)
    return CollectiveTraffic(
        np.concatenate([none, *sources]),
        np.concatenate([none, *targets]),
        np.concatenate([np.zeros(0), *sizes]),
        np.concatenate([np.zeros(0), *counts]),
        _merged(models),
    )


def _calls(record: Record) -> Iterator[_Calls]:
    """Yield the collective calls by communicator, collective and size."""
    members: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    rows: dict[tuple[int, int], CommunicatorRow] = {}
    tables: dict[tuple[tuple[int, int], str, int], dict[int, list[int]]] = defaultdict(dict)
    for rank in record.ranks:
        for known_row in filter(_is_usable, rank.communicators):
            rows[known_row.members, known_row.ordinal] = known_row
            members[known_row.members, known_row.ordinal][known_row.rank] = rank.rank
        for cell in rank.cells:
            match = _NAME.fullmatch(cell.function)
            collective = match["collective"].lower() if match else ""
            if collective not in ALGORITHMS and not collective.startswith("neighbor_"):
                continue
            row = None if cell.communicator is None else rank.communicators[cell.communicator]
            if row is None or not _is_usable(row):
                continue
            key = (row.members, row.ordinal)
            size_bin = 0 if collective in _BY_SENDER else cell.size_bin
            sums = tables[key, collective, size_bin].setdefault(row.rank, [0, 0])
            sums[0] += cell.calls
            sums[1] += cell.bytes
    for (key, collective, _), by_rank in sorted(tables.items(), key=lambda item: item[0]):
        if len(members[key]) < rows[key].size:
            continue  # the record of a rank lacks the row of the communicator
        calls = max(sums[0] for sums in by_rank.values())
        bytes_ = np.zeros(rows[key].size)
        for number, (_, total) in by_rank.items():
            bytes_[number] = total / max(calls, 1)
        order = np.array([members[key][number] for number in range(rows[key].size)], dtype=np.int64)
        yield _Calls(collective, order, rows[key].size == record.world_size, calls, bytes_)


def _is_usable(row: CommunicatorRow) -> bool:
    return not row.is_window and not row.is_between and row.size > 1 and row.name != "(others)"


def _algorithm(calls: _Calls, facts: Mapping[str, str]) -> tuple[str, str]:
    """Return name and source of the algorithm; no name if it is unknown or no order changes its cost."""
    if calls.collective.startswith("neighbor_"):
        return "", "the record has no neighbours"
    algorithms = ALGORITHMS[calls.collective]
    reported = _SCHEDULED.sub("", facts.get(f"library.{calls.collective}", ""))
    family = "openmpi" if "open mpi" in facts.get("mpi.version", "").lower() else facts.get("mpi.family", "")
    typical = float(calls.bytes.max(initial=0))
    name = (
        reported
        if reported in algorithms or _FOLLOW_THE_ORDER.fullmatch(reported)
        else library_choice(family, calls.collective, calls.size, typical)
    )
    source = "reported by the library" if name == reported else "thresholds of the library"
    if _FOLLOW_THE_ORDER.fullmatch(name):
        return ("", f"works node by node: {_EVERY_ORDER}") if calls.is_world else (WITHIN_NODES, source)
    if calls.size * (calls.size - 1) > _MOST_PAIRS and _is_dense(calls, name):
        why = _EVERY_ORDER if calls.is_world else "too many pairs"
        return "", f"{name} over {calls.size} ranks: {why}"
    return name, source


def _is_dense(calls: _Calls, name: str) -> bool:
    few = ALGORITHMS[calls.collective][name](3, 1.0)
    return len(few.sources) == 6 and len(set(few.bytes.tolist())) == 1


def _messages(calls: _Calls, algorithm: str) -> CallTraffic | None:
    mean = float(calls.bytes.mean())
    if algorithm == WITHIN_NODES:
        # The algorithm works node by node on part of the world: its partners depend on the rank order.
        if calls.size * (calls.size - 1) > _MOST_PAIRS:
            return ALGORITHMS["allreduce"]["ring"](calls.size, mean)
        return all_pairs(calls.size, 2 * mean / calls.size)
    if calls.collective in _BY_SENDER:
        return all_pairs(calls.size, calls.bytes / calls.size)
    return ALGORITHMS[calls.collective][algorithm](calls.size, mean)


def _merged(models: Sequence[CollectiveModel]) -> tuple[CollectiveModel, ...]:
    """Merge models by collective, size of communicator, algorithm and source; the heaviest first."""
    sums: dict[tuple[str, int, str, str], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for model in models:
        key = (model.collective, model.ranks, model.algorithm, model.source)
        calls, bytes_ = sums[key]
        sums[key] = (calls + model.calls, bytes_ + model.bytes)
    merged = [
        CollectiveModel(collective, ranks, calls, algorithm, source, bytes_)
        for (collective, ranks, algorithm, source), (calls, bytes_) in sums.items()
    ]
    return tuple(sorted(merged, key=lambda model: (-model.bytes, model.collective, model.ranks)))

"""Traffic between the ranks of the world that the collective calls of a record cause."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mpiric.mapping.collectives.algorithms import ALGORITHMS
from mpiric.mapping.collectives.call_traffic import CallTraffic, all_pairs
from mpiric.mapping.collectives.choice import WITHIN_NODES, library_choice
from mpiric.model.dataclass import dataclass
from mpiric.model.mapping import CollectiveModel, Numbers, Weights
from mpiric.model.record import CommunicatorRow, Record

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
            collective = _collective(cell.function)
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


def _collective(function: str) -> str:
    match = _NAME.fullmatch(function)
    return match["collective"].lower() if match else ""


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
        return _within_nodes(calls.size, mean)
    if calls.collective in _BY_SENDER:
        return all_pairs(calls.size, calls.bytes / calls.size)
    return ALGORITHMS[calls.collective][algorithm](calls.size, mean)


def _within_nodes(ranks: int, size: float) -> CallTraffic:
    """Return a model of an algorithm that works node by node on part of the world.

    Its partners depend on the rank order, so all pairs get equal shares of the traffic up and down one tree.
    """
    if ranks * (ranks - 1) > _MOST_PAIRS:
        return ALGORITHMS["allreduce"]["ring"](ranks, size)
    return all_pairs(ranks, 2 * size / ranks)


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

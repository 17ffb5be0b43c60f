"""Derived numbers by name, used by rules of advice and their sentences, and by symptoms.

Shares refer to the time of all ranks unless the name says otherwise; numbers without a basis in the record
are 0.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from mpiric.host.packaged import packaged_table
from mpiric.model.amount import quote
from mpiric.model.dataclass import dataclass
from mpiric.model.machine import parse_pu_list
from mpiric.model.profile import CollectiveUse, Efficiencies, FileTotal, FunctionUse, Message, RankUse
from mpiric.model.record import Record
from mpiric.model.tuned import SymptomChange
from mpiric.profile.cells import POINT_TO_POINT, fact
from mpiric.profile.communicators import outside_bytes

_LARGE_BYTES = 64 << 10  # messages that every library sends by a handshake, which needs both ranks
_SMALL_BYTES = 2048  # limit of messages whose latency costs more than their length
_TICKS_PER_S = 1e6
_LINE_BYTES = 64  # cache line
_PASSIVE_TARGET = ("MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush")


def _share(part: float, total: float) -> float:
    return part / total if total > 0 else 0.0


def time_numbers(
    functions: Iterable[FunctionUse], collectives: Iterable[CollectiveUse], ranks: tuple[RankUse, ...]
) -> dict[str, float]:
    """Return shares of time by activity."""
    total_s = sum(rank.time_s for rank in ranks)
    by_name: dict[str, float] = {}
    by_kind: dict[str, float] = {}
    for use in functions:
        by_name[use.name] = by_name.get(use.name, 0.0) + use.time_s + use.waited_s
        by_kind[use.kind] = by_kind.get(use.kind, 0.0) + use.time_s + use.waited_s
    collective_s = sum(use.time_s for use in collectives)
    waited_s = sum(use.waited_s for use in collectives)
    numbers = {f"{kind}_share": _share(time_s, total_s) for kind, time_s in by_kind.items()}
    numbers["mpi_share"] = _share(sum(rank.mpi_s * rank.threads for rank in ranks), total_s)
    numbers["point_to_point_share"] = _share(sum(by_kind.get(kind, 0.0) for kind in POINT_TO_POINT), total_s)
    numbers["collective_wait_share"] = _share(waited_s, total_s)
    numbers["collective_transfer_share"] = max(0.0, _share(collective_s - waited_s, total_s))
    for name in ("Barrier", "Allreduce", "Alltoall", "Alltoallv", "Bcast", "Iprobe", "Test", "Allgather"):
        numbers[f"{name.lower()}_share"] = _share(by_name.get(f"MPI_{name}", 0.0), total_s)
    # A library may take the lock and wait for the target only in the access that follows MPI_Win_lock.
    passive_s = sum(time_s for name, time_s in by_name.items() if name.startswith(_PASSIVE_TARGET))
    passive_s += by_kind.get("one_sided", 0.0) if passive_s else 0.0
    numbers["passive_target_share"] = _share(passive_s, total_s)
    numbers["poll_calls_per_s"] = _share(sum(use.calls for use in functions if use.kind == "poll"), total_s)
    return numbers


def message_numbers(
    record: Record, traffic: tuple[Message, ...], places: Mapping[int, int]
) -> dict[str, float]:
    """Return numbers about messages: sizes, reach, late receives."""
    moved = sum(message.bytes for message in traffic)
    messages = sum(message.messages for message in traffic)
    abroad = sum(m.bytes for m in traffic if places.get(m.source) != places.get(m.destination))
    small = sum(
        cell.calls
        for rank in record.ranks
        for cell in rank.cells
        if record.function_classes.get(cell.function) in ("send", "start")
        and 0 < cell.bytes <= cell.calls * _SMALL_BYTES  # 0 bytes: sent to MPI_PROC_NULL
    )
    large = sum(
        cell.calls
        for rank in record.ranks
        for cell in rank.cells
        if record.function_classes.get(cell.function) == "start" and cell.bytes >= cell.calls * _LARGE_BYTES
    )
    looked_at = sum(rank.receives.looked_at for rank in record.ranks)
    late = sum(rank.receives.late for rank in record.ranks)
    return {
        "messages": messages,
        "message_bytes": moved,
        "mean_message_bytes": _share(moved, messages),
        "small_message_share": min(1.0, _share(small, messages)),
        "large_nonblocking": large,
        "off_node_share": _share(abroad, moved),
        "outside_world_bytes": outside_bytes(record),
        "receives_looked_at": looked_at,
        "late_receive_share": _share(late, looked_at),
        "late_receive_bytes": sum(rank.receives.late_bytes for rank in record.ranks),
        "late_receive_peak_bytes": max((rank.receives.largest_bytes for rank in record.ranks), default=0),
    }


def balance_numbers(ranks: tuple[RankUse, ...], efficiency: Efficiencies) -> dict[str, float]:
    """Return the efficiencies and the busiest rank."""
    useful = {rank.rank: rank.useful_s for rank in ranks}
    busiest = max(useful, key=lambda rank: (useful[rank], -rank), default=0)
    mean = _share(sum(useful.values()), len(useful))
    return {
        "parallel_efficiency": efficiency.parallel,
        "load_balance": efficiency.load_balance,
        "communication_efficiency": efficiency.communication,
        "serialisation_efficiency": efficiency.serialisation,
        "transfer_efficiency": efficiency.transfer,
        "imbalance_share": _share(
            useful.get(busiest, 0.0) - mean, max((rank.wall_s for rank in ranks), default=0.0)
        ),
        "busiest_rank": busiest,
        "busiest_over_mean": _share(useful.get(busiest, 0.0), mean),
    }


def system_numbers(record: Record) -> dict[str, float]:
    """Return numbers about kernel and placement."""
    wall_s = sum(rank.wall_s for rank in record.ranks)
    user_us = sum(fact(rank, "time.user_us") for rank in record.ranks)
    system_us = sum(fact(rank, "time.system_us") for rank in record.ranks)
    anonymous = sum(fact(rank, "memory.anonymous_kib") for rank in record.ranks)
    return {
        "system_share": _share(system_us, user_us + system_us),
        "cpu_use": _share((user_us + system_us) / _TICKS_PER_S, wall_s),
        "allocator_share": _share(
            sum(fact(rank, "allocator.us") for rank in record.ranks), user_us + system_us
        ),
        "allocations_per_s": _share(sum(fact(rank, "allocator.calls") for rank in record.ranks), wall_s),
        "large_allocations_per_s": _share(
            sum(fact(rank, "allocator.large_calls") for rank in record.ranks), wall_s
        ),
        "minor_faults_per_s": _share(sum(fact(rank, "faults.minor") for rank in record.ranks), wall_s),
        "major_faults": sum(fact(rank, "faults.major") for rank in record.ranks),
        "involuntary_per_s": _share(sum(fact(rank, "switches.involuntary") for rank in record.ranks), wall_s),
        "involuntary_switches": sum(fact(rank, "switches.involuntary") for rank in record.ranks),
        "swapped_bytes": sum(fact(rank, "memory.swapped_kib") for rank in record.ranks) << 10,
        "peak_bytes": max((fact(rank, "memory.peak_kib") for rank in record.ranks), default=0) << 10,
        "anonymous_bytes": anonymous << 10,
        "huge_share": _share(sum(fact(rank, "memory.huge_kib") for rank in record.ranks), anonymous),
    }


def counter_numbers(record: Record) -> dict[str, float]:
    """Return hardware counters of the ranks' own code; 0 where they are not available."""
    instructions, cycles, misses = (
        sum(fact(rank, f"counter.{name}") for rank in record.ranks)
        for name in ("instructions", "cycles", "last_level_misses")
    )
    wall_s = max((rank.wall_s for rank in record.ranks), default=0.0)
    return {
        "instructions": instructions,
        "instructions_per_cycle": _share(instructions, cycles),
        "misses_per_1000_instructions": _share(1000 * misses, instructions),
        "memory_bytes_per_s": _share(misses * _LINE_BYTES, wall_s),  # lower bound: prefetches are not misses
    }


def io_numbers(files: tuple[FileTotal, ...], ranks: tuple[RankUse, ...]) -> dict[str, float]:
    """Return numbers about files: time, small and unaligned accesses, metadata, single writers."""
    total_s = sum(rank.time_s for rank in ranks)
    real = [file for file in files if file.interface != "stream"]
    accesses = sum(file.reads + file.writes for file in real)
    written = sum(file.bytes_written for file in real)
    alone = sum(file.bytes_written for file in real if file.ranks == 1)
    shared = [file for file in real if file.ranks > 1 and file.bytes_written and file.interface == "posix"]
    return {
        "io_share": _share(sum(file.time_s for file in files), total_s),
        "io_accesses": accesses,
        "io_bytes_read": sum(file.bytes_read for file in real),
        "io_bytes_written": written,
        "small_io_share": _share(sum(file.small for file in real), accesses),
        "unaligned_io_share": _share(sum(file.unaligned for file in real), accesses),
        "metadata_per_s": _share(
            sum(file.metadata for file in real), max((r.wall_s for r in ranks), default=0.0)
        ),
        "metadata_calls": sum(file.metadata for file in real),
        "one_rank_write_share": _share(alone, written),
        "shared_posix_files": len(shared),
        "printed_bytes": sum(file.bytes_written for file in files if file.interface == "stream"),
        "close_share": _share(sum(file.close_s for file in real), total_s),
        "lock_share": _share(sum(file.lock_s for file in real), total_s),
        "file_locks": sum(file.locks for file in real),
        "flushes": sum(file.flushes for file in files),
        "lines_per_flush": _share(sum(f.lines for f in files if f.flushes), sum(f.flushes for f in files)),
        **layout_numbers(files, total_s),
    }


def layout_numbers(files: tuple[FileTotal, ...], total_s: float) -> dict[str, float]:
    """Return numbers about files with one stripe and contended stripes; 0 without layouts."""
    narrow = [file for file in files if file.layout and file.layout.count == 1 and file.ranks > 1]
    contended = [file for file in files if file.ranks_in_one_stripe and file.pattern in {"strided", "random"}]
    return {
        "narrow_files": len(narrow),
        "narrow_bytes": sum(file.bytes_written + file.bytes_read for file in narrow),
        "narrow_share": _share(sum(file.time_s for file in narrow), total_s),
        "contended_files": len(contended),
        "contended_share": _share(sum(file.time_s for file in contended), total_s),
    }


def affinity_numbers(ranks: tuple[RankUse, ...], usable_cpus: Mapping[str, int]) -> dict[str, float]:
    """Return nodes, ranks per CPU, share of unbound ranks, and number of ranks beyond the CPUs of their mask.

    ``usable_cpus``: number of CPUs of a host that the job may use; the union of the masks if it is unknown.
    """
    hosts: dict[str, list[frozenset[int]]] = defaultdict(list)
    for rank in ranks:
        hosts[rank.host].append(frozenset(parse_pu_list(rank.affinity)))
    crowding, stacked, unbound, known_ranks = 0.0, 0, 0, 0
    for host, masks in hosts.items():
        recorded = [mask for mask in masks if mask]
        all_cpus = frozenset().union(*recorded)
        if not all_cpus:
            continue
        known_ranks += len(recorded)
        crowding = max(crowding, len(masks) / max(len(all_cpus), usable_cpus.get(host, 0)))
        unbound += sum(mask == all_cpus for mask in recorded) if len(all_cpus) > 1 else 0
        stacked += sum(max(0, sharing - len(mask)) for mask, sharing in Counter(recorded).items())
    return {
        "nodes": len(hosts),
        "ranks_per_cpu": crowding,
        "unbound_share": unbound / known_ranks if known_ranks else 0.0,
        "ranks_on_a_taken_cpu": stacked,
    }


_MOVED = 0.8  # ratio of a significant change; recorded runs of one command differ by less
_VISIBLE = 1e-3  # smallest share or rate that is reported


@dataclass(frozen=True)
class Symptom:
    """Wording and direction of a number; see `symptoms.toml`."""

    what: str
    form: str
    of: str
    wants: str = "less"


@lru_cache
def symptoms() -> Mapping[str, Symptom]:
    """Return all numbers with a wording, except numbers of single collectives."""
    return {
        name: Symptom(row["what"], row["form"], row["of"], row.get("wants", "less"))
        for name, row in packaged_table("profile/symptoms").items()
    }


def symptom_changes(
    names: Iterable[str], before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[SymptomChange, ...]:
    """Return noticed values and their changes, for numbers that both runs have and one run shows."""
    changes = []
    for name in dict.fromkeys(names):
        symptom = symptoms().get(name) or Symptom(
            f"of the time in MPI_{name.removesuffix('_share').capitalize()}", "%", "run"
        )
        if name in before and name in after and max(before[name], after[name]) >= _VISIBLE:
            changes.append(_change(name, symptom, before, after))
    return tuple(changes)


def _change(
    name: str, symptom: Symptom, before: Mapping[str, float], after: Mapping[str, float]
) -> SymptomChange:
    in_all = [_in_all(numbers, name, symptom.of) for numbers in (before, after)]
    is_cause = symptom.wants == "same"
    moved = not is_cause and _moved(symptom, *in_all)
    # In a shorter run, a share may have grown although its absolute value shrank.
    hidden = moved and not _moved(symptom, before[name], after[name])
    noticed, afterwards = (
        _wording(name, symptom, numbers, total if hidden else None)
        for numbers, total in zip((before, after), in_all, strict=True)
    )
    return SymptomChange(symptom.what, before[name], after[name], noticed, afterwards, moved, is_cause)


def _moved(symptom: Symptom, earlier: float, later: float) -> bool:
    less, more = (earlier, later) if symptom.wants == "more" else (later, earlier)
    return less <= _MOVED * more


def _wording(name: str, symptom: Symptom, numbers: Mapping[str, float], total: float | None) -> str:
    """Return ``2.2 % of the time in MPI``, with its absolute value if ``total`` is given."""
    text = f"{quote(f'{{{name}:{symptom.form}}}', numbers)} {symptom.what}"
    if total is None:
        return text
    form = "{total:s}" if symptom.form == "%" else "{total:n} in all"
    return f"{text} ({quote(form, {'total': total})})"


def _in_all(numbers: Mapping[str, float], name: str, of: str) -> float:
    """Return the absolute value of a share or rate."""
    run_s = numbers.get("wall_s", 1.0)
    scale = {"run": run_s, "cpu": run_s * numbers.get("cpu_use", 1.0), "": 1.0}[of]
    return numbers[name] * scale

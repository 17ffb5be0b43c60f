"""Files of a recorded run: totals per file, and the MPI-IO hints in effect, as the runtime read them back."""

import itertools
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from mpiric.host.files import LARGEST_TEXT_BYTES, open_and_read
from mpiric.model.errors import MpiricError
from mpiric.model.profile import FileTotal
from mpiric.model.record import FileDetail, FileUse, RankRecord, Record
from mpiric.model.storage import FileLayout

_MOSTLY = 0.8  # share of accesses that determines the pattern
Uses = list[tuple[RankRecord, FileUse]]


def file_totals(record: Record) -> tuple[FileTotal, ...]:
    """Return every file and standard stream, sorted by time."""
    uses: dict[tuple[str, str], Uses] = defaultdict(list)
    for rank in record.ranks:
        for file in rank.files:
            uses[file.path, file.interface].append((rank, file))
    totals = [_total(path, interface, by_rank) for (path, interface), by_rank in uses.items()]
    return tuple(sorted(totals, key=lambda total: (-total.time_s, total.path)))


def _total(path: str, interface: str, by_rank: Uses) -> FileTotal:
    uses = [use for _, use in by_rank]
    details = [use.detail for use in uses if use.detail]
    # The rank whose creating open ended first, according to the clocks of the nodes.
    times = [
        (use.detail.created_unix_s, rank.rank) for rank, use in by_rank if use.detail and use.detail.creating
    ]
    return FileTotal(
        path=path,
        interface=interface,
        ranks=len(uses),
        opens=sum(use.opens for use in uses),
        reads=sum(use.reads for use in uses),
        writes=sum(use.writes for use in uses),
        bytes_read=sum(use.bytes_read for use in uses),
        bytes_written=sum(use.bytes_written for use in uses),
        time_s=sum(use.read_s + use.write_s + use.metadata_s for use in uses),
        metadata=sum(use.opens + use.metadata + use.syncs for use in uses),
        small=sum(use.small for use in uses),
        unaligned=sum(use.unaligned for use in uses),
        sequential=sum(use.sequential for use in uses),
        created_by=min(times)[1] if times else None,
        nodes=len({rank.facts.get("host", "unknown") for rank, _ in by_rank}),
        pattern=_pattern(uses),
        opened=tuple(sorted(frozenset().union(*(detail.opened for detail in details)))),
        largest=max((detail.largest for detail in details), default=0),
        close_s=sum(detail.close_s for detail in details),
        locks=sum(detail.locks for detail in details),
        lock_s=sum(detail.lock_s for detail in details),
        lines=sum(detail.lines for detail in details),
        flushes=sum(detail.flushes for detail in details),
    )


def _located(uses: list[FileUse]) -> list[tuple[FileUse, FileDetail]]:
    return [(use, use.detail) for use in uses if use.detail and use.detail.end_byte]


def _pattern(uses: list[FileUse]) -> str | None:
    """Classify the accesses of the ranks; None if no offset is known.

    segmented: each rank accesses its own range; repeated: ranks access the same range; strided: constant
    distance between accesses, or accesses with gaps; random: anything else.
    """
    located = _located(uses)
    if not located:
        return None
    accesses = sum(use.reads + use.writes for use, _ in located)
    if sum(use.sequential for use, _ in located) >= _MOSTLY * accesses:
        return "repeated" if _overlap([detail for _, detail in located]) else "segmented"
    # The first two accesses of a rank have no previous distance.
    repeatable = sum(max(0, use.reads + use.writes - use.sequential - 1) for use, _ in located)
    strided = sum(detail.strided for _, detail in located)
    return "strided" if strided and strided >= _MOSTLY * repeatable else "random"


def _overlap(details: list[FileDetail]) -> bool:
    ranges = sorted((detail.first_byte, detail.end_byte) for detail in details)
    return any(after[0] < before[1] for before, after in itertools.pairwise(ranges))


def ranks_in_one_stripe(record: Record, path: str, layout: FileLayout) -> bool | None:
    """Check whether two ranks wrote to the same stripe of a file, by their ranges; None if unknown.

    Overlapping ranges are assumed to be interleaved accesses: they share a stripe unless every access begins
    at a stripe, which the record can tell for multiples of 4096 only. The MPI library decides which rank
    writes through MPI-IO.
    """
    files = (use for rank in record.ranks for use in rank.files if use.path == path and use.writes)
    uses = [use for use in files if use.interface != "mpi-io"]
    details = [detail for _, detail in _located(uses)]
    if len(details) < 2:
        return None if uses and not details else False
    unit = layout.stripes[0].size_bytes
    ranges = sorted((detail.first_byte // unit, (detail.end_byte - 1) // unit) for detail in details)
    if not _overlap(details):
        return any(after[0] <= before[1] for before, after in itertools.pairwise(ranges))
    smaller = all(detail.largest < unit for detail in details)
    return True if smaller or any(use.unaligned for use in uses) else None


Hints = Mapping[str, Mapping[str, str]]  # path used by the program → key → value


def read_hints(directory: Path) -> Hints:
    """Return the hints of the first files that each rank opened; the last open of a file counts."""
    hints: dict[str, dict[str, str]] = {}
    for path in sorted(directory.glob("hints.*")):
        of_file: dict[str, str] = {}
        try:
            text = open_and_read(path, "file of hints", LARGEST_TEXT_BYTES).decode(errors="replace")
        except (OSError, MpiricError):
            continue
        for line in text.splitlines():
            key, _, value = line.partition(" ")
            if key == "file":
                of_file = hints.setdefault(value, {})
            else:
                of_file[key] = value
    return hints

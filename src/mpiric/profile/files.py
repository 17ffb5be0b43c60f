"""Files, summed over the ranks that used them."""

from collections import defaultdict

from mpiric.model.profile import FileTotal
from mpiric.model.record import FileUse, Record


def file_totals(record: Record) -> tuple[FileTotal, ...]:
    """Every file and standard stream, the one that took most time first."""
    uses: dict[tuple[str, str], list[FileUse]] = defaultdict(list)
    for rank in record.ranks:
        for file in rank.files:
            uses[file.path, file.interface].append(file)
    totals = [_total(path, interface, found) for (path, interface), found in uses.items()]
    return tuple(sorted(totals, key=lambda total: (-total.time_s, total.path)))


def _total(path: str, interface: str, uses: list[FileUse]) -> FileTotal:
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
    )

"""A log of Darshan's, of a run that is over → the totals of files that a record of mpiric's gives.

Darshan counts POSIX calls of the MPI library too: of a file that was opened through MPI those are left out,
as in a record. What it does not count is left 0, and rules that need it say nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.profile import FileTotal, RankUse
from mpiric.model.storage import FileLayout, Stripes
from mpiric.profile.numbers import io_numbers

_MODULES = {"POSIX": "posix", "STDIO": "posix", "MPI-IO": "mpi-io"}
_STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
_SMALL = ("0_100", "100_1K")  # ranges of sizes below the 4 KiB that a record calls small
_INDEPENDENT, _COLLECTIVE, _NONBLOCKING = "INDEP", "COLL", "NB"


@dataclass(frozen=True)
class LoggedRun:
    """What a log says of a run: its command, its size, how long it took, and its files."""

    command: str
    ranks: int
    wall_s: float
    files: tuple[FileTotal, ...]

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers on files that rules of advice are about, those alone that the log can tell."""
        whole = RankUse(0, "", 0, 0, "", "finalized", self.wall_s * self.ranks, 0.0, 0.0, 0.0, 0.0, 0, ())
        numbers = io_numbers(self.files, (whole,))
        absent = ("close_share", "lock_share", "file_locks", "flushes", "lines_per_flush", "contended_files")
        per_s = numbers["metadata_calls"] / self.wall_s if self.wall_s > 0 else 0.0
        return {
            **{name: value for name, value in numbers.items() if name not in absent},
            "metadata_per_s": per_s,
            "ranks": float(self.ranks),
            "wall_s": self.wall_s,
        }


def read_log(path: Path) -> LoggedRun:
    """Read a log. Raises NotFoundError without PyDarshan, MpiricError for what is no log that it can read."""
    try:
        darshan: Any = import_module("darshan")  # an extra dependency, slow to load
    except ImportError as error:
        raise NotFoundError(
            "a log of Darshan's is read by PyDarshan, which is not installed",
            hint="pip install 'mpiric[darshan]'",
        ) from error
    if not path.is_file():
        raise NotFoundError(f"there is no file {path}", hint="name a log of Darshan's, NAME.darshan")
    try:
        report = darshan.DarshanReport(str(path), read_all=True)
        job = report.metadata["job"]
        return LoggedRun(
            str(report.metadata.get("exe", "")),
            int(job["nprocs"]),
            float(job["run_time"]),
            tuple(_files(report, int(job["nprocs"]))),
        )
    except (RuntimeError, KeyError, ValueError, OSError) as error:
        raise MpiricError(
            f"{path} cannot be read as a log of Darshan's: {str(error) or type(error).__name__}",
            hint="is it whole? `darshan-parser` of the version that wrote it says more",
        ) from error


def _files(report: Any, ranks: int) -> Iterator[FileTotal]:
    layouts = dict(_layouts(report.records.get("LUSTRE", ())))
    records = {name: _records(report, name) for name in _MODULES}
    through_mpi = {record["id"] for record in records["MPI-IO"]}
    for name, interface in _MODULES.items():
        uses: dict[int, list[Mapping[str, Any]]] = {}
        for record in records[name]:
            if name == "MPI-IO" or record["id"] not in through_mpi:
                uses.setdefault(record["id"], []).append(record)
        for file, found in uses.items():
            path = str(report.name_records.get(file, "(unknown)"))
            kind = "stream" if path in _STREAMS else interface
            yield _total(path, kind, found, _users(found, ranks), layouts.get(file))


def _records(report: Any, name: str) -> list[Mapping[str, Any]]:
    return list(report.records[name].to_dict()) if name in report.records else []


def _users(records: Iterable[Mapping[str, Any]], ranks: int) -> int:
    """Ranks that used a file: rank -1 stands for all of them."""
    seen = {record["rank"] for record in records}
    return ranks if -1 in seen else len(seen)


def _layouts(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, FileLayout]]:
    """Layouts of one component each: stripe size and stripe count come first among its counters."""
    for record in records:
        components = record["components"]
        if len(components) == 1:
            size, count = (int(value) for value in components[0]["counters"][:2])
            if size > 0 and count > 0:
                yield record["id"], FileLayout((Stripes(count, size),))


def _total(
    path: str,
    interface: str,
    records: list[Mapping[str, Any]],
    users: int,
    layout: FileLayout | None,
) -> FileTotal:
    def counted(*ends: str) -> int:
        return sum(
            max(0, int(value))
            for record in records
            for name, value in record["counters"].items()
            if name.split("_", 1)[1] in ends
        )

    def timed(*ends: str) -> float:
        return sum(
            float(value)
            for record in records
            for name, value in record["fcounters"].items()
            if name.split("_F_", 1)[1] in ends
        )

    kinds = ("", f"{_INDEPENDENT}_", f"{_COLLECTIVE}_", f"{_NONBLOCKING}_", "SPLIT_")
    opens = counted(*(f"{kind}OPENS" for kind in kinds))
    return FileTotal(
        path=path,
        interface=interface,
        ranks=users,
        opens=opens,
        reads=counted(*(f"{kind}READS" for kind in kinds)),
        writes=counted(*(f"{kind}WRITES" for kind in kinds)),
        bytes_read=counted("BYTES_READ"),
        bytes_written=counted("BYTES_WRITTEN"),
        time_s=timed("READ_TIME", "WRITE_TIME", "META_TIME"),
        metadata=opens + counted("STATS", "FSYNCS", "FDSYNCS", "SYNCS", "FLUSHES"),
        small=counted(*(f"SIZE_{what}_{end}" for what in ("READ", "WRITE") for end in _SMALL)),
        unaligned=counted("FILE_NOT_ALIGNED"),
        sequential=counted("SEQ_READS", "SEQ_WRITES"),
        layout=layout,
    )

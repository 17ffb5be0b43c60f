"""Reader of Darshan logs: totals of files as in a record of mpiric.

Darshan also counts POSIX calls of the MPI library: as in a record, they are left out for files opened through
MPI. Quantities that Darshan does not count are 0, so that rules which need them do not apply.
"""

import json
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from signal import Signals
from typing import Any

from mpiric.host.files import require_readable
from mpiric.host.host import TIMED_OUT, Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.json_text import parse_json, read_fields
from mpiric.model.profile import FileTotal, RankUse
from mpiric.model.storage import FileLayout, Stripes
from mpiric.profile.numbers import io_numbers

_MOST_BYTES = 4 << 30
_PATIENCE_S = 600.0
_CHILD = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from mpiric.profile.darshan import print_log
print_log(sys.argv[2])
"""
_MODULES = {"POSIX": "posix", "STDIO": "posix", "MPI-IO": "mpi-io"}
_STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")
_SMALL = ("0_100", "100_1K")  # size ranges below 4 KiB, the limit of small accesses in records
_INDEPENDENT, _COLLECTIVE, _NONBLOCKING = "INDEP", "COLL", "NB"


@dataclass(frozen=True)
class LoggedRun:
    """Contents of a log: command, number of ranks, run time, files."""

    command: str
    ranks: int
    wall_s: float
    files: tuple[FileTotal, ...]

    @property
    def numbers(self) -> dict[str, float]:
        """Return the numbers about files that rules of advice use, if the log has them."""
        all_ranks = RankUse(0, "", 0, 0, "", "finalized", self.wall_s * self.ranks, 0.0, 0.0, 0.0, 0.0, 0, ())
        numbers = io_numbers(self.files, (all_ranks,))
        absent = ("close_share", "lock_share", "file_locks", "flushes", "lines_per_flush", "contended_files")
        per_s = numbers["metadata_calls"] / self.wall_s if self.wall_s > 0 else 0.0
        return {
            **{name: value for name, value in numbers.items() if name not in absent},
            "metadata_per_s": per_s,
            "ranks": float(self.ranks),
            "wall_s": self.wall_s,
        }


def read_log(path: Path, host: Host) -> LoggedRun:
    """Read a log in a child process, because libdarshan-util crashes on some damaged logs.

    Raises NotFoundError without PyDarshan, MpiricError for a file that is not a readable log.
    """
    if find_spec("darshan") is None:
        raise NotFoundError(
            "a Darshan log is read by PyDarshan, which is not installed", hint="pip install 'mpiric[darshan]'"
        )
    require_readable(path, "Darshan log", _MOST_BYTES, "name a Darshan log, NAME.darshan")
    done = host.run([host.python, "-I", "-c", _CHILD, json.dumps(sys.path), str(path)], timeout_s=_PATIENCE_S)
    try:
        answer = parse_json(done.stdout) if done.status == 0 else {}
        if "error" not in answer:
            return read_fields(LoggedRun, answer)
        why = str(answer["error"])
    except (ValueError, TypeError):
        why = f"PyDarshan exited with status {done.status}"
    if done.status < 0:
        why = f"PyDarshan crashed ({Signals(-done.status).name})"
    if done.status == TIMED_OUT:
        why = done.stderr
    raise MpiricError(
        f"{path} cannot be read as a Darshan log: {why}",
        hint="check that it is complete, with `darshan-parser` of the Darshan version that wrote it",
    )


def print_log(path: str) -> None:
    """Print a log as JSON, or an error: the child process of `read_log`."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    darshan: Any = import_module("darshan")  # slow to load
    try:
        report = darshan.DarshanReport(path, read_all=True)
        job = report.metadata["job"]
        ranks, wall_s = int(job["nprocs"]), float(job["run_time"])
        run = LoggedRun(str(report.metadata.get("exe", "")), ranks, wall_s, tuple(_files(report, ranks)))
        print(json.dumps(asdict(run)))
    except Exception as error:  # PyDarshan raises any kind for a damaged log
        print(json.dumps({"error": str(error) or type(error).__name__}))


def _files(report: Any, ranks: int) -> Iterator[FileTotal]:
    layouts = dict(_layouts(report.records.get("LUSTRE", ())))
    records = {
        name: (list(report.records[name].to_dict()) if name in report.records else []) for name in _MODULES
    }
    through_mpi = {record["id"] for record in records["MPI-IO"]}
    for name, interface in _MODULES.items():
        uses: dict[int, list[Mapping[str, Any]]] = {}
        for record in records[name]:
            if name == "MPI-IO" or record["id"] not in through_mpi:
                uses.setdefault(record["id"], []).append(record)
        for file, file_records in uses.items():
            path = str(report.name_records.get(file, "(unknown)"))
            kind = "stream" if path in _STREAMS else interface
            numbers = {record["rank"] for record in file_records}
            yield _total(
                path, kind, file_records, ranks if -1 in numbers else len(numbers), layouts.get(file)
            )


def _layouts(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, FileLayout]]:
    """Yield layouts with one component; its first counters are stripe size and stripe count."""
    for record in records:
        components = record["components"]
        if len(components) == 1:
            size, count = (int(value) for value in components[0]["counters"][:2])
            if size > 0 and count > 0:
                yield record["id"], FileLayout((Stripes(count, size),))


def _total(
    path: str, interface: str, records: list[Mapping[str, Any]], users: int, layout: FileLayout | None
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
        small=counted(*(f"SIZE_{kind}_{end}" for kind in ("READ", "WRITE") for end in _SMALL)),
        unaligned=counted("FILE_NOT_ALIGNED"),
        sequential=counted("SEQ_READS", "SEQ_WRITES"),
        layout=layout,
    )

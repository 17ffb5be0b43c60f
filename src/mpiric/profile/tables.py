"""Tables of a record for CSV files and pandas: a row per cell, peer, file, rank, region, call site."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from mpiric.host.owned_files import write_whole
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import NotFoundError, writing
from mpiric.model.record import RankRecord, Record
from mpiric.profile.cells import bin_bounds
from mpiric.profile.communicators import key_of, labels

Row = dict[str, Any]


def _calls(record: Record) -> Iterator[Row]:
    names = labels(record)
    for rank in record.ranks:
        for cell in rank.cells:
            at = cell.communicator
            low, high = bin_bounds(cell.size_bin)
            yield {
                "rank": rank.rank,
                "function": cell.function,
                "class": record.function_classes.get(cell.function, ""),
                "communicator": "" if at is None else names[key_of(rank.communicators[at])],
                "region": rank.regions[cell.region].name,
                "low_bytes": low,
                "high_bytes": high,
                "calls": cell.calls,
                "bytes": cell.bytes,
                "time_s": cell.time_s,
                "timed_calls": cell.timed_calls,
                "shortest_s": cell.shortest_s,
                "longest_s": cell.longest_s,
                "waited_s": cell.waited_s,
            }


def _traffic(record: Record) -> Iterator[Row]:
    for rank in record.ranks:
        for peer in rank.peers:
            yield {
                "rank": rank.rank,
                "peer": peer.world_rank,
                "kind": peer.kind.value,
                "messages": peer.messages,
                "bytes": peer.bytes,
            }


def _ranks(record: Record) -> Iterator[Row]:
    facts = sorted({key for rank in record.ranks for key in rank.facts if not key.startswith("thread.")})
    for rank in record.ranks:
        row: Row = {"rank": rank.rank, "state": rank.state.value, "wall_s": rank.wall_s}
        row |= {name: getattr(rank.receives, name) for name in ("looked_at", "late", "late_bytes")}
        yield row | {key: _number(rank.facts.get(key, "")) for key in facts}


def _threads(record: Record) -> Iterator[Row]:
    for rank in record.ranks:
        for thread in threads_of(rank):
            facts = asdict(thread)
            yield {"rank": rank.rank, "thread": facts.pop("number"), **facts}


def _timeline(record: Record) -> Iterator[Row]:
    columns = ("point_to_point_s", "collective_s", "other_mpi_s", "files_s")
    for rank in record.ranks:
        line = rank.timeline
        for position, region in enumerate(line.region):
            row: Row = {"rank": rank.rank, "begin_s": position * line.span_s, "span_s": line.span_s}
            row |= {name: getattr(line, name)[position] for name in columns}
            yield row | {"region": rank.regions[region].name}


def _rows_of(table: str) -> Callable[[Record], Iterator[Row]]:
    def rows(record: Record) -> Iterator[Row]:
        for rank in record.ranks:
            entries: tuple[Any, ...] = getattr(rank, table)
            for entry in entries:
                yield {"rank": rank.rank} | {
                    field.name: getattr(entry, field.name) for field in fields(entry)
                }

    return rows


def _number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


TABLES: Mapping[str, Callable[[Record], Iterator[Row]]] = {
    "calls": _calls,
    "traffic": _traffic,
    "ranks": _ranks,
    "timeline": _timeline,
    "threads": _threads,
    "communicators": _rows_of("communicators"),
    "regions": _rows_of("regions"),
    "files": _rows_of("files"),
    "sites": _rows_of("sites"),
}


def rows(record: Record, table: str) -> list[Row]:
    """Return the rows of one of `TABLES`; all rows have the same keys."""
    return list(TABLES[table](record))


def write_csv(record: Record, directory: Path) -> tuple[Path, ...]:
    """Write a file per table that has rows. Raises NoRoomError if the directory cannot be written."""
    written = []
    with writing(directory, "use another directory"):
        directory.mkdir(parents=True, exist_ok=True)
        for table in TABLES:
            table_rows = rows(record, table)
            if table_rows:
                path = directory / f"{table}.csv"
                file = io.StringIO(newline="")
                writer = csv.DictWriter(file, list(table_rows[0]))
                writer.writeheader()
                writer.writerows(table_rows)
                write_whole(path, file.getvalue().encode())
                written.append(path)
    return tuple(written)


def frame(record: Record, table: str) -> Any:
    """Return one of `TABLES` as a pandas DataFrame. Raises NotFoundError if pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise NotFoundError(
            "pandas is not installed", hint="pip install pandas, or use rows() and write_csv()"
        ) from None
    return pandas.DataFrame(rows(record, table))


_TICKS_PER_S = 100.0  # USER_HZ, Linux's unit of CPU time on all architectures


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """Thread of a rank at the end of the recording."""

    number: int
    name: str
    cpu: int  # last CPU
    affinity: str  # list of allowed CPUs
    user_ticks: int
    system_ticks: int

    @property
    def cpu_s(self) -> float:
        """Used CPU time; the kernel counts in hundredths of a second."""
        return (self.user_ticks + self.system_ticks) / _TICKS_PER_S


def threads_of(rank: RankRecord) -> tuple[ThreadFacts, ...]:
    """Return the threads of a rank; none if it did not reach its end."""
    threads = []
    for key, value in rank.facts.items():
        number = key.removeprefix("thread.")
        if number != key and number.isdigit():
            name, *pairs = value.rsplit(" ", 4)
            facts = dict(pair.partition("=")[::2] for pair in pairs)
            threads.append(
                ThreadFacts(
                    number=int(number),
                    name=name,
                    cpu=_integer(facts.get("cpu", "")),
                    affinity=facts.get("affinity", ""),
                    user_ticks=_integer(facts.get("user_ticks", "")),
                    system_ticks=_integer(facts.get("system_ticks", "")),
                )
            )
    return tuple(threads)


def _integer(text: str) -> int:
    return int(text) if text.isdigit() else 0

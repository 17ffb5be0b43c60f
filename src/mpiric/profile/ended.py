"""Records of runs that were ended from outside: time of the end, and states of the processes before it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric.host.files import LARGEST_TEXT_BYTES, is_file, read_bounded
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.quoting import one_line
from mpiric.model.record import CallCell, ProcessState, RankRecord, RankState, Record
from mpiric.profile import layout

ENDED = "ended.json"  # file in the directory of a record
_TEXTS = ("state", "system_call", "file", "place")


def with_end(record: Record, directory: Path) -> Record:
    """Add the end of the run and the states of its processes, if the run was ended from outside.

    A rank that has not finalized ran up to this time. Its call in flight counts up to then.
    """
    path = directory / ENDED
    try:
        data = parse_json(read_bounded(path, "end of a run", LARGEST_TEXT_BYTES)) if is_file(path) else {}
        unix_s, processes = float(data["unix_s"]), dict(data["processes"])
    except (KeyError, TypeError, ValueError, MpiricError):
        return record
    ranks = tuple(_ended(rank, unix_s, _state(processes.get(str(rank.rank)))) for rank in record.ranks)
    return replace(record, ranks=ranks, ended_unix_s=unix_s)


def _state(data: Any) -> ProcessState | None:
    if not isinstance(data, Mapping):
        return None
    return ProcessState(**{name: one_line(str(data.get(name, ""))) for name in _TEXTS})


def _ended(rank: RankRecord, unix_s: float, process: ProcessState | None) -> RankRecord:
    if rank.state is not RankState.RUNNING or unix_s < rank.begin_unix_s:
        return replace(rank, process=process)
    call, cells = rank.call, rank.cells
    if call is not None and call.entered_unix_s < unix_s:
        lasted_s, histogram = unix_s - call.entered_unix_s, (0,) * layout.TIME_BINS
        cells += (
            CallCell(
                call.function, call.communicator, 0, 0, 1, 0, 1, lasted_s, lasted_s, lasted_s, 0.0, histogram
            ),
        )
    return replace(rank, process=process, cells=cells, wall_s=max(rank.wall_s, unix_s - rank.begin_unix_s))

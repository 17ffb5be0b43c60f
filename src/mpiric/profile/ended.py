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
from mpiric.profile.cells import fact

ENDED = "ended.json"  # file in the directory of a record


def with_end(record: Record, directory: Path) -> Record:
    """Add the end of the run and the states of its processes, if the run was ended from outside.

    A rank that has not finalized ran up to this time. Its call in flight counts up to then.
    """
    unix_s, states = states_at_end(directory)
    if not unix_s:
        return record
    ranks = tuple(_ended(rank, unix_s, states.get(str(rank.rank))) for rank in record.ranks)
    unrecorded = {rank: states[str(rank)] for rank in record.missing if str(rank) in states}
    return replace(record, ranks=ranks, ended_unix_s=unix_s, unrecorded=unrecorded)


def states_at_end(directory: Path) -> tuple[float, dict[str, ProcessState]]:
    """Return the time when a run was ended, 0 if it was not, and the states of its processes.

    Keys are numbers of ranks, or names of launchers that had not started any.
    """
    path = directory / ENDED
    try:
        data = parse_json(read_bounded(path, "end of a run", LARGEST_TEXT_BYTES)) if is_file(path) else {}
        states = {one_line(str(key)): _state(value) for key, value in dict(data["processes"]).items()}
        return float(data["unix_s"]), states
    except (AttributeError, KeyError, TypeError, ValueError, MpiricError):
        return 0.0, {}


def _state(data: Mapping[str, Any]) -> ProcessState:
    def text(name: str) -> str:
        return one_line(str(data.get(name, "")))

    return ProcessState(
        text("state"),
        text("system_call"),
        text("file"),
        text("place"),
        tuple(one_line(str(call)) for call in data.get("calls", ())),
        text("connects_to"),
        float(data.get("user_s", 0.0)),
        float(data.get("system_s", 0.0)),
        int(data.get("involuntary_switches", 0)),
    )


def _ended(rank: RankRecord, unix_s: float, process: ProcessState | None) -> RankRecord:
    if process and process.reads_standard_input and rank.left_unix_s > unix_s:
        # The launcher closed the input when it was ended, so that the rank went on.
        rank = replace(rank, state=RankState.RUNNING, call=None, left_unix_s=rank.begin_unix_s, wall_s=0.0)
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
    return replace(
        rank,
        process=process,
        cells=cells,
        wall_s=max(rank.wall_s, unix_s - rank.begin_unix_s),
        facts=_with_usage(rank, process) if process else rank.facts,
    )


def _with_usage(rank: RankRecord, process: ProcessState) -> Mapping[str, str]:
    """Return the facts with the CPU time up to the end: a rank outside MPI did not write it any more."""
    facts = dict(rank.facts)
    for kind, total_s in (("user", process.user_s), ("system", process.system_s)):
        since_init_us = int(1e6 * total_s) - fact(rank, f"before.{kind}_us")
        facts[f"time.{kind}_us"] = str(max(since_init_us, fact(rank, f"time.{kind}_us")))
    switches = max(process.involuntary_switches, fact(rank, "switches.involuntary"))
    return facts | {"switches.involuntary": str(switches)}

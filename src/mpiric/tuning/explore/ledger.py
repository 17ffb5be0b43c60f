"""Ledger of explored jobs: events as models (spec/formats/explore.md); unreadable events are skipped."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

from mpiric.model.errors import MpiricError
from mpiric.model.marks import MarkPair, read_mark_option
from mpiric.model.pace import KeyPace, MarkKey
from mpiric.tuning.store.events import TuneEvents

VERSION = 1
UNPAIRED = -1  # block number of a job without a block
_DIGITS = 6  # decimals of seconds


class Side(str, Enum):
    """Command of a job."""

    ORIGINAL = "original"
    RECIPE = "recipe"

    @property
    def other(self) -> "Side":
        """Return the side of the other job of the block."""
        return Side.RECIPE if self is Side.ORIGINAL else Side.ORIGINAL


@dataclass(frozen=True)
class JobEnd:
    """End of a job, and the marks that it reached."""

    status: int | None  # exit status as in a shell; None if the job disappeared
    end_requested: bool = False  # a signal from outside requested the end
    nan: str = ""  # first line with a NaN in the output
    wall_s: float = 0.0
    pace: KeyPace | None = None


@dataclass(frozen=True)
class ExploredJob:
    """Job of an exploration; without an end it is running, or its end was not recorded."""

    job: str
    block: int
    side: Side
    inputs: str  # digest of the input files
    began_at: str = ""
    host: str = ""
    process: tuple[int, float] = (0, 0.0)  # process id and start time
    scheduler: tuple[str, str] = ("", "")  # name of the scheduler and job id
    directory: str = ""  # directory of the marks, next to the ledger, named as the job
    end: JobEnd | None = None


@dataclass(frozen=True)
class Over:
    """End of an exploration."""

    verdict: str
    why: str


@dataclass(frozen=True)
class Ledger:
    """Jobs of one program, input size and recipe."""

    pair: MarkPair | None
    recipe: str = ""  # path of the recipe
    command: tuple[str, ...] = ()
    jobs: tuple[ExploredJob, ...] = ()
    over: Over | None = None
    damaged_lines: int = 0
    meta: Mapping[str, object] = field(default_factory=dict)


def read_ledger(events: TuneEvents) -> Ledger:
    """Read a ledger. Raises MpiricError for a later version."""
    version = events.meta.get("ledger", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise MpiricError(
            f"the ledger is of version {version}, this mpiric reads {VERSION}", hint="update mpiric"
        )
    alone = events.meta.get("on_rank_0_alone") is True
    pair = read_mark_option(str(events.meta.get("mark", "")), on_rank_0_alone=alone)
    command = events.meta.get("command")
    jobs: dict[str, ExploredJob] = {}  # first event of each job
    for event in events.events:
        if event["event"] == "began" and (job := _begun_job(event)):
            jobs.setdefault(job.job, job)
    ends = {
        str(event.get("job")): end
        for event in events.events
        if event["event"] == "ended" and (end := _end(event, pair))
    }
    overs = [event for event in events.events if event["event"] == "over"]
    return Ledger(
        pair,
        str(events.meta.get("recipe", "")),
        tuple(str(word) for word in command) if isinstance(command, list) else (),
        tuple(replace(job, end=ends.get(name)) for name, job in jobs.items()),
        Over(str(overs[0].get("verdict", "")), str(overs[0].get("why", ""))) if overs else None,
        events.damaged_lines,
        events.meta,
    )


def begun_fields(job: ExploredJob) -> dict[str, object]:
    """Return the fields of the event that a job has begun."""
    return {
        "job": job.job,
        "block": job.block,
        "side": job.side.value,
        "inputs": job.inputs,
        "host": job.host,
        "process": list(job.process),
        "scheduler": list(job.scheduler),
        "directory": job.directory,
    }


def end_fields(job: str, end: JobEnd) -> dict[str, object]:
    """Return the fields of the event that a job has ended."""
    pace = end.pace
    marks = {} if pace is None else {
        "calls": pace.calls, "stride": pace.stride, "times_s": [round(at_s, _DIGITS) for at_s in pace.times_s]
    }  # fmt: skip
    return {
        "job": job,
        "status": end.status,
        "asked": end.end_requested,
        "nan": end.nan,
        "wall_s": round(end.wall_s, _DIGITS),
        **marks,
    }


def _begun_job(event: Mapping[str, object]) -> ExploredJob | None:
    try:
        number, began = _pair(event["process"])
        scheduler, scheduled = _pair(event["scheduler"])
        return ExploredJob(
            job=_name(event["job"]),
            block=_integer(event["block"]),
            side=Side(event["side"]),
            inputs=str(event["inputs"]),
            began_at=str(event.get("at", "")),
            host=str(event["host"]),
            process=(_integer(number), _number(began)),
            scheduler=(str(scheduler), str(scheduled)),
            directory=str(event["directory"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _end(event: Mapping[str, object], pair: MarkPair | None) -> JobEnd | None:
    try:
        status = event["status"]
        return JobEnd(
            None if status is None else _integer(status),
            event["asked"] is True,
            str(event.get("nan", "")),
            _number(event["wall_s"]),
            _pace(event, pair.key) if pair is not None and "times_s" in event else None,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _pace(event: Mapping[str, object], key: MarkKey) -> KeyPace | None:
    times = event["times_s"]
    if not isinstance(times, list) or not times:
        raise TypeError("times_s")
    at_s = tuple(map(_number, times))
    calls, stride = _integer(event["calls"]), _integer(event["stride"])
    if (
        stride < 1
        or calls < (len(at_s) - 1) * stride + 1
        or any(later < earlier for earlier, later in pairwise(at_s))
    ):
        raise ValueError("times_s")
    return KeyPace(key, calls, stride, at_s)


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.isalnum():
        raise ValueError("name")  # it is used as the name of a directory
    return value


def _pair(value: object) -> tuple[object, object]:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError("two values")
    return value[0], value[1]


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("integer")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("number")
    return float(value)

"""The ledger of explored jobs: events as models (spec/formats/explore.md), without what cannot be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from mpiric.model.errors import MpiricError
from mpiric.model.marks import MarkPair, read_mark_option
from mpiric.model.pace import KeyPace, MarkKey
from mpiric.tuning.store.events import TuneEvents

VERSION = 1
UNPAIRED = -1  # block of a job that belongs to none
_DIGITS = 6  # of seconds


class Side(str, Enum):
    """What a job runs."""

    ORIGINAL = "original"
    RECIPE = "recipe"

    @property
    def other(self) -> "Side":
        """What the other job of its block runs."""
        return Side.RECIPE if self is Side.ORIGINAL else Side.ORIGINAL


@dataclass(frozen=True)
class JobEnd:
    """How a job ended, and the marks that it came to."""

    status: int | None  # as a shell has it; None: it is gone, and nobody saw how
    asked: bool = False  # a signal from outside had asked it to end
    nan: str = ""  # the first line with a NaN that it printed
    wall_s: float = 0.0
    pace: KeyPace | None = None


@dataclass(frozen=True)
class ExploredJob:
    """One job; without an end it runs, or nobody saw it end."""

    job: str
    block: int
    side: Side
    inputs: str  # digest
    began_at: str = ""
    host: str = ""
    process: tuple[int, float] = (0, 0.0)  # number, and when it began
    scheduler: tuple[str, str] = ("", "")  # its name, and its name of the job
    directory: str = ""  # of its marks, beside the ledger, named as the job
    end: JobEnd | None = None


@dataclass(frozen=True)
class Over:
    """Exploring has ended."""

    verdict: str
    why: str


@dataclass(frozen=True)
class Ledger:
    """All that is known of jobs of one program, input size and recipe."""

    pair: MarkPair | None
    recipe: str = ""  # path
    command: tuple[str, ...] = ()
    jobs: tuple[ExploredJob, ...] = ()
    over: Over | None = None
    damaged_lines: int = 0
    meta: Mapping[str, object] = field(default_factory=dict)


def read_ledger(events: TuneEvents) -> Ledger:
    """Read a ledger. Raises MpiricError for one of a later version."""
    version = events.meta.get("ledger", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise MpiricError(
            f"the ledger is of version {version}, this mpiric reads {VERSION}", hint="update mpiric"
        )
    alone = events.meta.get("on_rank_0_alone") is True
    pair = read_mark_option(str(events.meta.get("mark", "")), on_rank_0_alone=alone)
    command = events.meta.get("command")
    begun = [job for event in events.events if event["event"] == "began" and (job := _begun(event))]
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
        tuple(_with_end(job, ends.get(job.job)) for job in _first_of_each(begun)),
        Over(str(overs[0].get("verdict", "")), str(overs[0].get("why", ""))) if overs else None,
        events.damaged_lines,
        events.meta,
    )


def begun_fields(job: ExploredJob) -> dict[str, object]:
    """Fields of the event that a job has begun."""
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
    """Fields of the event that a job has ended."""
    pace = end.pace
    kept = {} if pace is None else {
        "calls": pace.calls, "stride": pace.stride, "times_s": [round(at_s, _DIGITS) for at_s in pace.times_s]
    }  # fmt: skip
    return {
        "job": job,
        "status": end.status,
        "asked": end.asked,
        "nan": end.nan,
        "wall_s": round(end.wall_s, _DIGITS),
        **kept,
    }


def _first_of_each(jobs: Iterable[ExploredJob]) -> Iterable[ExploredJob]:
    seen: dict[str, ExploredJob] = {}
    for job in jobs:
        seen.setdefault(job.job, job)
    return seen.values()


def _with_end(job: ExploredJob, end: JobEnd | None) -> ExploredJob:
    return ExploredJob(**{**vars(job), "end": end})


def _begun(event: Mapping[str, object]) -> ExploredJob | None:
    try:
        number, began = _two(event["process"])
        scheduler, scheduled = _two(event["scheduler"])
        return ExploredJob(
            job=_name(event["job"]),
            block=_whole(event["block"]),
            side=Side(event["side"]),
            inputs=str(event["inputs"]),
            began_at=str(event.get("at", "")),
            host=str(event["host"]),
            process=(_whole(number), _number(began)),
            scheduler=(str(scheduler), str(scheduled)),
            directory=str(event["directory"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _end(event: Mapping[str, object], pair: MarkPair | None) -> JobEnd | None:
    try:
        status = event["status"]
        return JobEnd(
            None if status is None else _whole(status),
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
    at_s = tuple(_number(each) for each in times)
    calls, stride = _whole(event["calls"]), _whole(event["stride"])
    if (
        stride < 1
        or calls < (len(at_s) - 1) * stride + 1
        or any(later < earlier for earlier, later in pairwise(at_s))
    ):
        raise ValueError("times_s")
    return KeyPace(key, calls, stride, at_s)


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.isalnum():
        raise ValueError("name")  # it becomes that of a directory
    return value


def _two(value: object) -> tuple[object, object]:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError("two values")
    return value[0], value[1]


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("whole number")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("number")
    return float(value)

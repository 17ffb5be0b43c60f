"""Ledger of explored jobs: events as models (spec/formats/explore.md); unreadable events are skipped."""

from collections.abc import Mapping
from dataclasses import asdict, field, replace
from enum import Enum
from itertools import pairwise

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import read_fields
from mpiric.model.marks import MarkPair, read_mark_option
from mpiric.model.pace import KeyPace
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
    cause: str = ""  # known cause of a failure, with its remedy


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
        "cause": end.cause,
        **marks,
    }


def _begun_job(event: Mapping[str, object]) -> ExploredJob | None:
    try:
        job = read_fields(ExploredJob, {**event, "began_at": event.get("at", ""), "end": None})
    except ValueError:
        return None
    is_complete = begun_fields(job).keys() <= event.keys()
    # The name is used as the name of a directory.
    return job if is_complete and job.job.isalnum() else None


def _end(event: Mapping[str, object], pair: MarkPair | None) -> JobEnd | None:
    try:
        end = read_fields(JobEnd, {**event, "end_requested": event.get("asked"), "pace": None})
        if pair is None or "times_s" not in event:
            return end
        pace = read_fields(KeyPace, {**event, "key": asdict(pair.key)})
    except ValueError:
        return None
    is_valid = (
        pace.times_s
        and pace.stride >= 1
        and pace.calls >= (len(pace.times_s) - 1) * pace.stride + 1
        and all(earlier <= later for earlier, later in pairwise(pace.times_s))
    )
    return replace(end, pace=pace) if is_valid else None

"""Ledger of explored jobs: events as models (spec/formats/explore.md); unreadable events are skipped.

The proof takes production jobs in blocks of two, one with the recipe and one with the original, in random
order. If both sides are equally fast, each order within a block is equally likely, whatever drifts between
the jobs. The ratio of a block is the ratio of the times per mark, over the marks that both jobs reached. If a
job ended before there was anything to compare, or disappeared, the sign is unknown and counts as a loss of
every bet: against the recipe and never for it. The end of a job must not decide whether the job counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from enum import Enum
from itertools import pairwise
from math import inf

from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.json_text import read_fields
from mpiric.model.pace import KeyPace, MarkPair, read_mark_option
from mpiric.statistics.claims import PairedClaim, StoppingRule
from mpiric.statistics.confidence_sequence import Bounds, centre
from mpiric.tuning.events import TuneEvents
from mpiric.tuning.mark_split import per_mark_s

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
class Ledger:
    """Jobs of one program, input size and recipe."""

    pair: MarkPair | None
    recipe: str = ""  # path of the recipe
    command: tuple[str, ...] = ()
    jobs: tuple[ExploredJob, ...] = ()
    over: tuple[str, str] | None = None  # verdict at the end of the exploration, and the reason for it
    damaged_lines: int = 0
    meta: Mapping[str, object] = field(default_factory=dict)


def read_ledger(events: TuneEvents) -> Ledger:
    """Read a ledger. Raises MpiricError for a later version."""
    version = events.meta.get("ledger", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise MpiricError(
            f"the results of `mpiric run --explore` have version {version}, this mpiric reads {VERSION}",
            hint="update mpiric",
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
        (str(overs[0].get("verdict", "")), str(overs[0].get("why", ""))) if overs else None,
        events.damaged_lines,
        events.meta,
    )


def begun_fields(job: ExploredJob) -> dict[str, object]:
    """Return the fields of the event that a job has begun."""
    return {name: value for name, value in vars(job).items() if name not in ("began_at", "end")}


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


_UNKNOWN: tuple[Bounds, Bounds] = (0.0, inf), (1.0, inf)  # bounds of the quotient: 0 and infinity
_ERROR_OF_95 = 0.05
# Exit status of a job that was ended from outside: HUP INT KILL USR1 USR2 TERM XCPU
_ENDED_BY_SIGNAL = frozenset(128 + signal for signal in (1, 2, 9, 10, 12, 15, 24))
_FAILED_STARTS = 2  # jobs with the recipe that fail at the start; one may be due to its node


def assign(jobs: Sequence[ExploredJob], inputs: str, coin: Side) -> tuple[int, Side, str]:
    """Assign the next job: to a block that waits for its second job, or to a new one with the side ``coin``.

    Return block, side and a message to the user, which may be empty. The jobs of a block have equal inputs. A
    block whose inputs have changed waits for another job with them.
    """
    blocks = paired(jobs)
    waiting = [(number, block[0]) for number, block in sorted(blocks.items()) if len(block) == 1]
    for number, first in waiting:
        if first.inputs == inputs:
            return number, first.side.other, ""
    note = ""
    if waiting:
        note = (
            f"the inputs have changed since the first job of block {waiting[-1][0]}, which needs "
            "another job with the former inputs"
        )
    return max(blocks, default=0) + 1, coin, note


def paired(jobs: Sequence[ExploredJob]) -> dict[int, list[ExploredJob]]:
    """Return the one or two jobs of each block."""
    blocks: dict[int, list[ExploredJob]] = {}
    for job in jobs:
        if job.block != UNPAIRED and len(blocks.setdefault(job.block, [])) < 2:
            blocks[job.block].append(job)
    return blocks


@dataclass(frozen=True)
class Explored:
    """Result so far; ``ended_because`` is empty while the exploration continues."""

    blocks: int  # number of blocks that count
    unknown: int  # number of these with an unknown sign
    verdict: Verdict
    ratio: float | None  # original ÷ recipe, time per mark
    ci95: tuple[float, float]
    ended_because: str = ""
    is_failing: bool = False  # the recipe fails with inputs with which the original succeeds


def explored(jobs: Sequence[ExploredJob], pair: MarkPair, over: tuple[str, str] | None = None) -> Explored:
    """Judge all blocks in order; ``over`` is the end of the exploration according to the ledger."""
    rule = StoppingRule()
    claim = PairedClaim(rule, 1 - rule.confidence)
    complete = [block for _, block in sorted(paired(jobs).items()) if len(block) == 2]
    ended = [number for number, block in enumerate(complete) if all(job.end for job in block)]
    # A block with a running job counts, as unknown, if a later block has ended.
    for block in complete[: max(ended, default=-1) + 1]:
        original, recipe = _bounds(block, pair)
        if claim.stopped_because:
            break
        claim.enter(original, recipe)
        claim.judge()
    exact = [low for low, high in claim.ratios if low == high]
    failing = failure(jobs)
    logged_verdict, logged_why = over or ("", "")
    why = failing or logged_why or claim.stopped_because
    verdict = claim.verdict or Verdict.NO_DIFFERENCE
    if logged_verdict in {verdict.value for verdict in Verdict}:
        verdict = Verdict(logged_verdict)
    return Explored(
        len(claim.ratios),
        len(claim.ratios) - len(exact),
        verdict,
        centre(exact) if exact else None,
        claim.interval(max(_ERROR_OF_95, 1 - rule.confidence)),
        why,
        bool(failing),
    )


def failure(jobs: Sequence[ExploredJob]) -> str:
    """Return how the recipe failed with inputs with which the original succeeds; "" if it did not."""
    ran = {
        job.inputs
        for job in jobs
        if job.side is Side.ORIGINAL and job.end and job.end.status == 0 and not job.end.nan
    }
    starts = 0
    for job in jobs:
        if job.side is not Side.RECIPE or job.end is None or job.inputs not in ran:
            continue
        if has_failed(job.end):
            event = f"ended with status {job.end.status}"
        elif job.end.nan:
            event = f"printed a NaN ({job.end.nan})"
        else:
            continue
        starts += job.end.pace is None
        if job.end.pace is not None or starts >= _FAILED_STARTS:
            return f"with the recipe a job {event} where the original ran"
    return ""


def has_failed(end: JobEnd) -> bool:
    """Return whether the program failed, and was not ended by a signal from outside, as at a time limit."""
    return end.status not in (0, None) and not end.end_requested and end.status not in _ENDED_BY_SIGNAL


def _bounds(block: Sequence[ExploredJob], pair: MarkPair) -> tuple[Bounds, Bounds]:
    sides = {job.side: job.end.pace for job in block if job.end is not None}
    original, recipe = sides.get(Side.ORIGINAL), sides.get(Side.RECIPE)
    if original is None or recipe is None:
        return _UNKNOWN
    last = min(original.last_timed, recipe.last_timed)
    original_s, recipe_s = (per_mark_s(pace, pair.first, last) for pace in (original, recipe))
    if not original_s or not recipe_s:
        return _UNKNOWN
    return (original_s, original_s), (recipe_s, recipe_s)

"""Proof by production jobs in blocks of two, one with the recipe and one with the original, in random order.

If both sides are equally fast, each order within a block is equally likely, whatever drifts between the jobs.
The ratio of a block is the ratio of the times per mark, over the marks that both jobs reached. If a job ended
before there was anything to compare, or disappeared, the sign is unknown and counts as a loss of every bet:
against the recipe and never for it. The end of a job must not decide whether the job counts.
"""

from collections.abc import Sequence
from math import inf

from mpiric.model.dataclass import dataclass
from mpiric.model.evidence import Verdict
from mpiric.model.marks import MarkPair
from mpiric.statistics.confidence_sequence import Bounds, centre
from mpiric.statistics.paired_claim import PairedClaim
from mpiric.statistics.stopping_rule import StoppingRule
from mpiric.tuning.explore.ledger import UNPAIRED, ExploredJob, JobEnd, Over, Side
from mpiric.tuning.marks.later_pace import per_mark_s

_UNKNOWN: tuple[Bounds, Bounds] = (0.0, inf), (1.0, inf)  # bounds of the quotient: 0 and infinity
_ERROR_OF_95 = 0.05
# Exit status of a job that was ended from outside: HUP INT KILL USR1 USR2 TERM XCPU
_ENDED_BY_SIGNAL = frozenset(128 + signal for signal in (1, 2, 9, 10, 12, 15, 24))
_FAILED_STARTS = 2  # jobs with the recipe that fail at the start; one may be due to its node


@dataclass(frozen=True)
class Assignment:
    """Block and side of the next job."""

    block: int
    side: Side
    note: str = ""  # message to the user


def assign(jobs: Sequence[ExploredJob], inputs: str, coin: Side) -> Assignment:
    """Assign the next job: to a block that waits for its second job, or to a new one with the side ``coin``.

    The jobs of a block have equal inputs. A block whose inputs have changed waits for another job with them.
    """
    blocks = paired(jobs)
    waiting = [(number, block[0]) for number, block in sorted(blocks.items()) if len(block) == 1]
    for number, first in waiting:
        if first.inputs == inputs:
            return Assignment(number, first.side.other)
    note = ""
    if waiting:
        note = (
            f"the inputs have changed since the first job of block {waiting[-1][0]}, which needs "
            "another job with the former inputs"
        )
    return Assignment(max(blocks, default=0) + 1, coin, note)


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


def explored(jobs: Sequence[ExploredJob], pair: MarkPair, over: Over | None = None) -> Explored:
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
    why = failing or (over.why if over else "") or claim.stopped_because
    verdict = claim.verdict or Verdict.NO_DIFFERENCE
    if over is not None and over.verdict in {verdict.value for verdict in Verdict}:
        verdict = Verdict(over.verdict)
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

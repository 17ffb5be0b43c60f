"""What blocks of jobs prove, by the bets of a proof, and when exploring is over.

Identical sides make the order within a block a fair coin, whatever drifts between the jobs. A pair's ratio is
that of the times per mark, over the marks that both came to. Where one died before there was anything to
compare, or is gone and left nothing, the sign is not known: it counts as lost to every bet, against the
recipe and never for it. Nothing else enters: how jobs end must not choose which of them count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from mpiric.model.evidence import Verdict
from mpiric.model.marks import MarkPair
from mpiric.tuning.explore.blocks import paired
from mpiric.tuning.explore.ledger import ExploredJob, JobEnd, Over, Side
from mpiric.tuning.marks.later_pace import per_mark_s
from mpiric.tuning.proof.confidence_sequence import Bounds, centre
from mpiric.tuning.proof.paired_claim import PairedClaim
from mpiric.tuning.proof.stopping_rule import StoppingRule

_UNKNOWN: tuple[Bounds, Bounds] = (0.0, inf), (1.0, inf)  # a quotient between 0 and infinity
_ERROR_OF_95 = 0.05
_FROM_OUTSIDE = frozenset(128 + signal for signal in (1, 2, 9, 10, 12, 15, 24))  # HUP INT KILL USR TERM XCPU
_FAILED_STARTS = 2  # of jobs with the recipe: one may be a node's


@dataclass(frozen=True)
class Explored:
    """What is known so far; ``ended_because`` is empty while exploring goes on."""

    blocks: int  # that count
    unknown: int  # of these, whose sign is not known
    verdict: Verdict
    ratio: float | None  # original ÷ recipe, time per mark
    ci95: tuple[float, float]
    ended_because: str = ""
    is_failing: bool = False  # the recipe fails where the original ran


def explored(
    jobs: Sequence[ExploredJob], pair: MarkPair, rule: StoppingRule | None = None, over: Over | None = None
) -> Explored:
    """Judge all blocks, in their order; ``over``: what the ledger says has ended it."""
    rule = rule or StoppingRule()
    claim = PairedClaim(rule, 1 - rule.confidence)
    counted = list(_counted(jobs, pair))
    for original, recipe in counted:
        if claim.stopped_because:
            break
        claim.enter(original, recipe)
        claim.judge()
    exact = [low for low, high in claim.ratios if low == high]
    failing = failure(jobs)
    why = failing or (over.why if over else "") or claim.stopped_because
    verdict = claim.verdict or Verdict.NO_DIFFERENCE
    if over is not None and over.verdict in {each.value for each in Verdict}:
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
    """How the recipe failed where the original ran, "" when it did not."""
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
            what = f"ended with status {job.end.status}"
        elif job.end.nan:
            what = f"printed a NaN ({job.end.nan})"
        else:
            continue
        starts += job.end.pace is None
        if job.end.pace is not None or starts >= _FAILED_STARTS:
            return f"with the recipe a job {what} where the original ran"
    return ""


def has_failed(end: JobEnd) -> bool:
    """Whether the program itself failed: not a signal from outside, as at a time limit."""
    return end.status not in (0, None) and not end.asked and end.status not in _FROM_OUTSIDE


def _counted(jobs: Sequence[ExploredJob], pair: MarkPair) -> Iterator[tuple[Bounds, Bounds]]:
    """Blocks of two, (original, recipe); one under way counts, as unknown, once a later one is over."""
    whole = [block for _, block in sorted(paired(jobs).items()) if len(block) == 2]
    ended = [number for number, block in enumerate(whole) if all(job.end for job in block)]
    for block in whole[: max(ended, default=-1) + 1]:
        yield _bounds(block, pair)


def _bounds(block: Sequence[ExploredJob], pair: MarkPair) -> tuple[Bounds, Bounds]:
    sides = {job.side: job.end.pace for job in block if job.end is not None}
    original, recipe = sides.get(Side.ORIGINAL), sides.get(Side.RECIPE)
    if original is None or recipe is None:
        return _UNKNOWN
    last = min(original.last_timed, recipe.last_timed)
    times = [per_mark_s(pace, pair.first, last) for pace in (original, recipe)]
    original_s, recipe_s = times
    if not original_s or not recipe_s:
        return _UNKNOWN
    return (original_s, original_s), (recipe_s, recipe_s)

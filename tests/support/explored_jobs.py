"""Jobs of a series by hand: their places in blocks, their pace, how they ended."""

from tests.support.paces import key, key_pace, steps

from mpiric.model.marks import MarkPair
from mpiric.tuning.explore.ledger import ExploredJob, JobEnd, Side

PAIR = MarkPair(key("MPI_Allreduce", "lmp+0x48f2", ranks=4), 100, 200)


def end(
    step_s: float | None = 0.05,
    *,
    marks: int = 1000,
    status: int | None = 0,
    asked: bool = False,
    nan: str = "",
) -> JobEnd:
    """A job of so many equal steps; without a time it left no marks."""
    pace = None if step_s is None else key_pace(PAIR.key, steps(marks, step_s, step_s))
    return JobEnd(status, asked, nan, 60.0, pace)


def job(block: int, side: Side, ended: JobEnd | None, inputs: str = "same") -> ExploredJob:
    """A job; without an end it runs, or nobody saw it end."""
    return ExploredJob(f"{block}{side.value}", block, side, inputs, end=ended)


def block(number: int, original: JobEnd | None, recipe: JobEnd | None) -> tuple[ExploredJob, ExploredJob]:
    """Two jobs, in an order that changes from block to block."""
    both = job(number, Side.ORIGINAL, original), job(number, Side.RECIPE, recipe)
    return both if number % 2 else (both[1], both[0])

"""Explored jobs made by hand: position in a block, pace and end."""

from tests.support.paces import key, key_pace, steps

from mpiric.model.pace import MarkPair
from mpiric.tuning.exploration import ExploredJob, JobEnd, Side

PAIR = MarkPair(key("MPI_Allreduce", "lmp+0x48f2", ranks=4), 100, 200)


def end(
    step_s: float | None = 0.05,
    *,
    marks: int = 1000,
    status: int | None = 0,
    was_asked: bool = False,
    nan: str = "",
) -> JobEnd:
    """Return the end of a job with equal steps; a job without a step time left no marks."""
    pace = None if step_s is None else key_pace(PAIR.key, steps(marks, step_s, step_s))
    return JobEnd(status, was_asked, nan, 60.0, pace)


def job(block: int, side: Side, ended: JobEnd | None, inputs: str = "same") -> ExploredJob:
    """Return a job; without an end, it is running or its end was not observed."""
    return ExploredJob(f"{block}{side.value}", block, side, inputs, end=ended)


def block(number: int, original: JobEnd | None, recipe: JobEnd | None) -> tuple[ExploredJob, ExploredJob]:
    """Return two jobs, in an order that alternates between blocks."""
    both = job(number, Side.ORIGINAL, original), job(number, Side.RECIPE, recipe)
    return both if number % 2 else (both[1], both[0])

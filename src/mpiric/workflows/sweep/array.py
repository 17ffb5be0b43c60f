"""A sweep by the jobs of an array: each job measures some collectives on some communicators completely.

Times that are compared are thus measured in one job, on the same nodes. The element that ends last, or the
job after the array, collects all measurements and completes the sweep, as after an interruption.
"""

from collections.abc import Callable
from dataclasses import replace

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.tuning.store.lock import Lock
from mpiric.workflows.submit.array_rounds import ArrayRound, drop_after, is_double, was_cancelled
from mpiric.workflows.sweep.directory import LOG
from mpiric.workflows.sweep.explore import measure
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan
from mpiric.workflows.sweep.sweep import Swept, sweep


def work(
    plan: SweepPlan, array_round: ArrayRound, element: int | None, host: Host, say: Callable[[str], None]
) -> Swept | None:
    """Do the work of a job of the array. Returns the result if this job completes the sweep, else None."""
    if is_double(array_round, host):
        return None
    if element is None and was_cancelled(array_round, host):
        array_round.tell(f"array {array_round.number} was cancelled")
        return None
    if element is not None and not array_round.is_finished(element):
        try:
            _measure(plan, array_round, element, host, say)
        except MpiricError as error:
            array_round.tell(f"job {element} failed: {error.message}")
            return None
    if element is not None and not array_round.is_complete:
        return None
    try:
        lock = Lock.take(array_round.submission / "lock")
    except MpiricError as error:
        array_round.tell(error.message)
        return None  # if the holder of the lock fails, the job after the array continues
    try:
        collected = _collect(plan, array_round)
        swept = sweep(replace(plan, request=replace(plan.request, resume=True)), host, array_round.tell)
    finally:
        lock.release()
    if element is not None:
        drop_after(array_round, host)
    swept.points += collected
    return swept


def _measure(
    plan: SweepPlan, array_round: ArrayRound, element: int, host: Host, say: Callable[[str], None]
) -> None:
    """Measure every n-th subject of an array of n jobs, into a separate log."""
    directory = array_round.directory(element).absolute()
    budget_s = plan.request.budget_s
    request = replace(
        plan.request, directory=directory, budget_s=None if budget_s is None else budget_s / array_round.size
    )
    subjects = list(plan.sizes)[element :: array_round.size]
    part = replace(plan, request=request, sizes={subject: plan.sizes[subject] for subject in subjects})
    log = Log(directory / LOG, part, resume=True)
    if part.sizes:
        measure(part, host, log, say, say)
    array_round.finish(element)


def _collect(plan: SweepPlan, array_round: ArrayRound) -> int:
    """Copy the measurements of all jobs into the log of the sweep, and return the number of points."""
    collected, main = 0, Log(array_round.submission / LOG, plan, resume=True)
    for element in range(array_round.size):
        path = array_round.directory(element) / LOG
        if not is_file(path):
            continue
        part = Log(path, plan, resume=True)
        for name, why in part.excluded.items():
            if name not in main.excluded:
                collective, _, candidate = name.partition(" ")
                main.exclude(collective, candidate, why)
        for point, times in part.measured.items():
            if point not in main.measured:
                main.add(point, times)
                collected += 1
        for point, times in part.fresh.items():
            if point not in main.fresh:
                main.add_fresh(point, times)
    return collected

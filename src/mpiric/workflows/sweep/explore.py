"""Measure what is unsure, then what seems to win once more, until nothing is left or time is up."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from mpiric.host.facts.time_slices import tick_s
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.model.errors import ProgramFailedError
from mpiric.model.policy import LIBRARY, Measured
from mpiric.model.run import Plan
from mpiric.tuning.policy.disturbed import disturbed_points, without_disturbed
from mpiric.tuning.policy.merge import averaged
from mpiric.tuning.policy.sampling import Subject, SweepPoint, next_points, winners
from mpiric.workflows.sweep.estimate import Costs, cost_by_own_times
from mpiric.workflows.sweep.launch import Answer, ask, check_launching, launches, where
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan
from mpiric.workflows.sweep.probe import LaunchFailedError
from mpiric.workflows.trials.users_lab import users_lab

_TURNS = 2  # of confirming each gain
_EXPLORING = 0.6  # of a budget, the rest is for confirming
_MOST_REPEATED = 0.25  # share of all points; a larger disturbance will not pass by
_GRACE_S = 10.0  # for a launch that is under way when time is up

Say = Callable[[str], None]


@dataclass
class Effort:
    """What measuring took."""

    points: int = 0
    launches: int = 0


def measure(plan: SweepPlan, host: Host, log: Log, say: Say, tell: Say) -> Effort:
    """Measure into ``log`` all that there is to measure or the budget allows; Ctrl-C ends it early.

    ``say`` is for what the next sentence may replace, ``tell`` for what shall stay.
    """
    effort = Effort()
    with users_lab(plan.situation, host) as lab:
        try:
            drive(_measured(plan, log, effort, say, tell), lab.measure)
        except KeyboardInterrupt:
            tell("interrupted: writing what was measured; go on with --resume")
    return effort


def _measured(plan: SweepPlan, log: Log, effort: Effort, say: Say, tell: Say) -> Plan[None]:
    begun, budget_s = time.monotonic(), plan.request.budget_s
    yield from explore(plan, log, say, effort, inf if budget_s is None else _EXPLORING * budget_s, tell)
    left_s = inf if budget_s is None else budget_s - (time.monotonic() - begun)
    yield from confirm(plan, log, say, effort, left_s)


def explore(
    plan: SweepPlan,
    log: Log,
    say: Say,
    effort: Effort,
    limit_s: float = inf,
    tell: Say | None = None,
) -> Plan[None]:
    """Measure until nothing more is worth it or the time is up."""
    end = time.monotonic() + limit_s

    def keep(point: SweepPoint, times: Measured) -> None:
        log.add(point, times)
        effort.points += 1

    while time.monotonic() < end:
        wanted = next_points(plan.sizes, _left(plan, log), log.measured, plan.stride)
        if not wanted:
            break
        for points in launches(wanted, Costs(plan, log.measured)):
            costs = Costs(plan, log.measured)
            if tell and costs.are_known:
                tell(cost_by_own_times(plan, costs, log.measured))
                tell = None
            left_s = end - time.monotonic()
            if left_s <= 0:
                break
            say(f"{len(log.measured)} of at most {plan.points} points; {len(points)} in this launch")
            yield from _launch(plan, log, effort, points, left_s, keep)

    again = [point for point in disturbed_points(log.measured, tick_s()) if point not in log.repeated]
    if len(again) > _MOST_REPEATED * len(log.measured):
        return
    for points in launches(again, Costs(plan, log.measured)):
        left_s = end - time.monotonic()
        if left_s <= 0:
            break
        say(f"measuring {len(again)} points again that were disturbed")
        yield from _launch(plan, log, effort, points, left_s, keep)


def confirm(plan: SweepPlan, log: Log, say: Say, effort: Effort, limit_s: float = inf) -> Plan[None]:
    """Measure what seems to beat the library once more, in turns with the library, until the limit."""
    end = time.monotonic() + limit_s
    wanted = [point for point in winners(without_disturbed(log.measured, tick_s())) if point not in log.fresh]
    found: dict[SweepPoint, list[Measured]] = defaultdict(list)

    def keep(point: SweepPoint, times: Measured) -> None:
        found[point].append(times)
        if len(found[point]) == _TURNS:
            log.add_fresh(point, averaged(point.candidate, found.pop(point)))

    for turn in range(_TURNS if wanted else 0):
        pieces = list(launches(wanted, Costs(plan, log.measured)))
        for points in pieces if turn % 2 else reversed(pieces):
            left_s = end - time.monotonic()
            if left_s <= 0:
                break
            say(f"confirming gains, {len(wanted)} points, turn {turn + 1} of {_TURNS}")
            yield from _launch(plan, log, effort, points, left_s, keep)
    for point, several in found.items():
        log.add_fresh(point, averaged(point.candidate, several))


def _left(plan: SweepPlan, log: Log) -> dict[Subject, list[str]]:
    return {
        subject: [name for name in names if f"{subject.collective} {name}" not in log.excluded]
        for subject, names in plan.candidates.items()
    }


def _launch(
    plan: SweepPlan,
    log: Log,
    effort: Effort,
    points: Sequence[SweepPoint],
    left_s: float,
    keep: Callable[[SweepPoint, Measured], None],
) -> Plan[None]:
    """Keep what comes of these points; who fails is given up. Raises MpiricError where the library does."""
    pending = [point for point in points if not log.is_excluded(point)]
    if not pending:
        return
    effort.launches += 1
    patience_s = Costs(plan, log.measured).patience_s(pending)
    answer = yield from ask(plan, pending, min(patience_s, left_s + _GRACE_S))
    for point, times in answer.found:
        keep(point, times)
    cut_short = isinstance(answer.failure, LaunchFailedError) and answer.failure.timed_out
    if not (cut_short and left_s + _GRACE_S < patience_s):
        for point, why in _failures(answer, pending):
            yield from _exclude(plan, log, point, why, answer)


def _failures(answer: Answer, points: Sequence[SweepPoint]) -> Iterator[tuple[SweepPoint, str]]:
    """Points are measured one after another: the first that a failing launch says nothing of is to blame."""
    yield from answer.wrong.items()
    missing = [point for point in points if answer.is_missing(point)]
    if answer.failure is None:
        yield from ((point, f"gave no time {where(point)}") for point in missing)
        return
    output = getattr(answer.failure, "output", "") or answer.failure.message
    if missing:
        yield missing[0], f"failed {where(missing[0])}: {output}"
        return
    yield from ((point, f"failed at the end: {output}") for point in points)


def _exclude(plan: SweepPlan, log: Log, point: SweepPoint, why: str, answer: Answer) -> Plan[None]:
    """A candidate that cannot run; the library's own must."""
    if log.is_excluded(point):
        return
    if point.candidate == LIBRARY:
        raise answer.failure or ProgramFailedError(f"{point.subject.collective} of the library itself {why}")
    if answer.failure is not None:
        yield from check_launching(plan)
    log.exclude(point.subject.collective, point.candidate, why)

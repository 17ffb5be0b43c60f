"""Measure the uncertain points, then confirm gains, until nothing is left or the time is up."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from math import inf

from mpiric.algorithms.library import algorithms_of, version_numbers
from mpiric.host.facts.time_slices import tick_s
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.lab.lab import drive
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.job import Spelling
from mpiric.model.json_text import read_fields
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import LIBRARY, Line, Measured, Named, Policy
from mpiric.model.run import Plan
from mpiric.statistics.sampling import SweepPoint, next_points, winners
from mpiric.tuning.policy_files import disturbed_points, without_disturbed
from mpiric.tuning.policy_merge import averaged
from mpiric.workflows.policies import lay_out, strictly, tuner_for
from mpiric.workflows.sweep.estimate import Costs, cost_by_own_times
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import NONBLOCKING, PROBE, LaunchFailedError, SweepPlan, run_launch
from mpiric.workflows.trials.users_lab import users_lab

_LONGEST_S = 60.0  # time of a launch of several points, so that a hang costs little


@dataclass
class LaunchResult:
    """Times, and points with wrong results, of a launch."""

    times: list[tuple[SweepPoint, Measured]] = field(default_factory=list)
    wrong: dict[SweepPoint, str] = field(default_factory=dict)
    failure: ProgramFailedError | None = None

    def is_missing(self, point: SweepPoint) -> bool:
        """Return whether the launch has no result for a point."""
        return point not in self.wrong and all(point != measured for measured, _ in self.times)


def launches(points: Iterable[SweepPoint], costs: Costs) -> Iterator[list[SweepPoint]]:
    """Yield the points of each launch: first the library's own choices, then one candidate per collective.

    A setting for one collective may change others: some blocking algorithms are the nonblocking one and a
    wait, so that blocking and nonblocking collectives never share a launch.
    """
    by_name: dict[bool, dict[str, dict[str, list[SweepPoint]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for point in points:
        collective = point.subject.collective
        by_name[collective in NONBLOCKING][collective][point.candidate].append(point)
    forms = [by_name[form] for form in sorted(by_name)]
    library = [
        point for names in forms for points_of in names.values() for point in points_of.pop(LIBRARY, ())
    ]
    yield from _pieces(library, costs)
    for names in forms:
        while remaining := [points_of for points_of in names.values() if points_of]:
            first = [point for points_of in remaining for point in points_of.pop(next(iter(points_of)))]
            yield from _pieces(first, costs)


def _pieces(points: Sequence[SweepPoint], costs: Costs) -> Iterator[list[SweepPoint]]:
    piece: list[SweepPoint] = []
    for point in points:
        if piece and costs.sum_s([*piece, point]) > _LONGEST_S:
            yield piece
            piece = []
        piece.append(point)
    if piece:
        yield piece


def measure_points(
    plan: SweepPlan,
    points: Sequence[SweepPoint],
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> Plan[LaunchResult]:
    """Measure points of one candidate per collective, or the choices of an ``environment``."""
    request, mpi = plan.request, plan.mpi
    by_word = {
        f"{p.subject.collective}:{p.subject.shape.ranks}:{p.subject.shape.ranks_per_node}:{p.size}": p
        for p in points
    }
    program = (native_part(PROBE, mpi.abi_families[0]), str(request.seconds), *by_word)
    (segment,) = plan.job.segments
    job = replace(plan.job, segments=(replace(segment, program=program),))
    situation = replace(plan.situation, job=job)
    result = LaunchResult()
    setting = _setting(plan, points) if environment is None else Spelling(environment=environment)
    try:
        rows = yield from run_launch(situation, setting, limit_s, request.directory)
    except ProgramFailedError as error:
        result.failure = error
        rows = list(error.rows) if isinstance(error, LaunchFailedError) else []
    for row in rows:
        fields = (str(row.get(name)) for name in ("collective", "ranks", "per_node", "bytes"))
        point = by_word.get(":".join(fields))
        if point is None:
            continue
        if wrong := row.get("wrong", 0):
            result.wrong[point] = f"the result was wrong on {wrong} ranks, {where(point)}"
            continue
        with suppress(ValueError):  # a line that the launcher cut off
            result.times.append((point, read_fields(Measured, {**row, "name": point.candidate})))
    return result


def check_launching(plan: SweepPlan) -> Plan[None]:
    """Raise MpiricError if the launch line itself fails, so that no candidate is blamed."""
    request = plan.request
    try:
        yield from run_launch(plan.situation, Spelling(), request.patience_s(0), request.directory)
    except ProgramFailedError as error:
        raise MpiricError(
            f"the launch line fails now: {error.message}",
            hint="repair it, and continue with --resume",
            exit_code=error.exit_code,
        ) from error


def where(point: SweepPoint) -> str:
    """Return a phrase such as ``at 64 bytes on 4 ranks on 2 nodes``."""
    return f"at {point.size} bytes on {point.subject.shape}"


def _setting(plan: SweepPlan, points: Iterable[SweepPoint]) -> Spelling:
    """Return the variables of the library, and the runtime with a policy for mpiric's own algorithms."""
    mpi, tuner = plan.mpi, tuner_for(plan.mpi)
    assignment = sorted({(point.subject.collective, point.candidate) for point in points})
    environment: dict[str, str] = {}
    for collective, name in assignment:
        environment.update(_environment(mpi, collective, name))
    lines = tuple(Line(collective, name) for collective, name in assignment if name.startswith("own:"))
    if not lines:
        return Spelling(environment=environment)
    policy = lay_out(Policy(mpi.implementation, mpi.version, lines), plan.request.directory)
    return Spelling(environment={**environment, **strictly(policy)}, preload=(tuner.library,))


def _environment(mpi: MpiLibrary, collective: str, name: str) -> dict[str, str]:
    """Return the variables by which the library chooses an algorithm."""
    named = Named.parse(name)
    for candidate in algorithms_of(mpi.implementation, collective, version_numbers(mpi.version)):
        if candidate.name == named.algorithm:
            values = dict(named.parameters)
            parameters = {p.environment: values[p.key] for p in candidate.parameters if p.key in values}
            return {**dict(candidate.environment), **parameters}
    return {}


_TURNS = 2  # repetitions that confirm a gain
_EXPLORING = 0.6  # share of the budget; the rest is for confirmation
_MOST_REPEATED = 0.25  # share of all points; a larger disturbance is not temporary
_GRACE_S = 10.0  # extra time for a running launch when the time is up

Say = Callable[[str], None]


@dataclass
class Measurer:
    """Measures the points of a plan into a log; ``say`` gets messages that the next one may replace."""

    plan: SweepPlan
    log: Log
    say: Say = lambda _: None
    points: int = 0  # number of measured points
    launches: int = 0

    def explore(self, limit_s: float = inf, tell: Say | None = None) -> Plan[None]:
        """Measure until no further point is worth it or the time is up; ``tell`` gets the expected cost."""
        plan, log, end = self.plan, self.log, time.monotonic() + limit_s
        while time.monotonic() < end:
            remaining = {
                subject: [name for name in names if f"{subject.collective} {name}" not in log.excluded]
                for subject, names in plan.candidates.items()
            }
            pending = next_points(plan.sizes, remaining, log.measured, plan.stride)
            if not pending:
                break
            for points in launches(pending, Costs(plan, log.measured)):
                costs = Costs(plan, log.measured)
                if tell and costs.are_known:
                    tell(cost_by_own_times(plan, costs, log.measured))
                    tell = None
                message = f"{len(log.measured)} of at most {plan.points} points; {len(points)} in this launch"
                yield from self._launch(points, end, message, self._add)
        again = [point for point in disturbed_points(log.measured, tick_s()) if point not in log.repeated]
        if len(again) <= _MOST_REPEATED * len(log.measured):
            for points in launches(again, Costs(plan, log.measured)):
                message = f"measuring {len(again)} disturbed points again"
                yield from self._launch(points, end, message, self._add)

    def confirm(self, limit_s: float = inf) -> Plan[None]:
        """Measure points with a gain again, in turn with the library, until the limit."""
        log, end = self.log, time.monotonic() + limit_s
        gaining = [
            point for point in winners(without_disturbed(log.measured, tick_s())) if point not in log.fresh
        ]
        times_of: dict[SweepPoint, list[Measured]] = defaultdict(list)

        def keep(point: SweepPoint, times: Measured) -> None:
            times_of[point].append(times)
            if len(times_of[point]) == _TURNS:
                log.add(point, averaged(point.candidate, times_of.pop(point)), fresh=True)

        for turn in range(_TURNS if gaining else 0):
            pieces = list(launches(gaining, Costs(self.plan, log.measured)))
            message = f"confirming gains, {len(gaining)} points, turn {turn + 1} of {_TURNS}"
            for points in pieces if turn % 2 else reversed(pieces):
                yield from self._launch(points, end, message, keep)
        for point, several in times_of.items():
            log.add(point, averaged(point.candidate, several), fresh=True)

    def _add(self, point: SweepPoint, times: Measured) -> None:
        self.log.add(point, times)
        self.points += 1

    def _launch(
        self,
        points: Sequence[SweepPoint],
        end: float,
        message: str,
        keep: Callable[[SweepPoint, Measured], None],
    ) -> Plan[None]:
        """Measure points and exclude failing candidates, unless the time is up.

        Raises MpiricError if the library itself fails.
        """
        left_s = end - time.monotonic()
        if left_s <= 0:
            return
        self.say(message)
        pending = [point for point in points if not self.log.is_excluded(point)]
        if not pending:
            return
        self.launches += 1
        patience_s = Costs(self.plan, self.log.measured).patience_s(pending)
        result = yield from measure_points(self.plan, pending, min(patience_s, left_s + _GRACE_S))
        for point, times in result.times:
            keep(point, times)
        cut_short = isinstance(result.failure, LaunchFailedError) and result.failure.timed_out
        if not (cut_short and left_s + _GRACE_S < patience_s):
            for point, why in _failures(result, pending):
                yield from self._exclude(point, why, result)

    def _exclude(self, point: SweepPoint, why: str, result: LaunchResult) -> Plan[None]:
        """Exclude a candidate that failed. Raises MpiricError if it is the library's own choice."""
        if self.log.is_excluded(point):
            return
        if point.candidate == LIBRARY:
            reason = f"{point.subject.collective} of the library itself {why}"
            raise result.failure or ProgramFailedError(reason)
        if result.failure is not None:
            yield from check_launching(self.plan)
        self.log.exclude(point.subject.collective, point.candidate, why)


def _failures(result: LaunchResult, points: Sequence[SweepPoint]) -> Iterator[tuple[SweepPoint, str]]:
    """Yield failed points. Points are measured in order, so that the first missing one made a launch fail."""
    yield from result.wrong.items()
    missing = [point for point in points if result.is_missing(point)]
    if result.failure is None:
        yield from ((point, f"gave no time {where(point)}") for point in missing)
        return
    output = getattr(result.failure, "output", "") or result.failure.message
    if missing:
        yield missing[0], f"failed {where(missing[0])}: {output}"
        return
    yield from ((point, f"failed at the end: {output}") for point in points)


def measure(plan: SweepPlan, host: Host, log: Log, say: Say, tell: Say) -> Measurer:
    """Measure into ``log`` until the sweep is complete or the budget is spent; Ctrl-C ends it early.

    ``say`` gets messages that the next one may replace, ``tell`` gets lasting messages.
    """
    measurer = Measurer(plan, log, say)

    def measured() -> Plan[None]:
        start_s, budget_s = time.monotonic(), plan.request.budget_s
        yield from measurer.explore(inf if budget_s is None else _EXPLORING * budget_s, tell)
        left_s = inf if budget_s is None else budget_s - (time.monotonic() - start_s)
        yield from measurer.confirm(left_s)

    with users_lab(plan.situation, host) as lab:
        try:
            drive(measured(), lab.measure)
        except KeyboardInterrupt:
            tell("interrupted: writing the measurements so far; continue with --resume")
    return measurer

"""Measure the export of a sweep as users will run it: by the library alone, without mpiric in the ranks.

Choices were measured one at a time, some of them by mpiric's runtime; the library's own form sets all of them
at once, for ranges of sizes, and may change the algorithms of other calls. So the library runs with the
exported settings and without them, in turn, at every measured size of the collectives with a choice. Choices
that are slower with them are removed from the export, which is then measured again. Choices that gain nothing
together are not exported.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from statistics import geometric_mean

from mpiric.host.facts.time_slices import tick_s
from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError
from mpiric.model.policy import LIBRARY, LearnedPolicy, Line, Measured, Policy, Span
from mpiric.model.run import Plan
from mpiric.statistics.sampling import NOISE, SweepPoint
from mpiric.tuning.policy_files import without_disturbed
from mpiric.tuning.policy_merge import averaged
from mpiric.workflows.policies import by_ranks, chooses_something, of_library
from mpiric.workflows.sweep.estimate import Costs
from mpiric.workflows.sweep.explore import measure_points
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan

_MOST_ROUNDS = 3  # limit of rounds that take slower choices out
_TURNS = (False, True, True, False)  # order of measurement; True: with the export


@dataclass(frozen=True)
class ExportCheck:
    """The part of a policy that is faster in the library's own form, and by how much."""

    policy: Policy
    gains: Mapping[SweepPoint, float] = field(default_factory=dict)  # library alone ÷ exported
    withdrawn: tuple[str, ...] = ()  # sentences
    refused: str = ""  # reason for the lack of an export

    @property
    def gain(self) -> float | None:
        """Return the geometric mean of the gains of the measured points; None without an export."""
        return geometric_mean(self.gains.values()) if self.gains else None


def check_export(
    plan: SweepPlan, learned: LearnedPolicy, log: Log, host: Host, say: Callable[[str], None]
) -> Plan[ExportCheck]:
    """Measure the export of a policy, and remove choices that are slower than the library by itself."""
    policy, withdrawn = of_library(learned), list[str]()
    for _ in range(_MOST_ROUNDS):
        if not chooses_something(policy):
            break
        try:
            settings = by_ranks(policy, plan.request.directory, host)
        except MismatchError as error:
            return ExportCheck(replace(policy, lines=()), refused=f"no export: {error.message}")
        gains, slower = {}, {}
        for ranks, environment in settings.items():
            size = f", {ranks.low} ranks" if ranks.low == ranks.high else ""
            say(f"measuring the exported choices without mpiric{size}")
            both = yield from _measured(plan, policy, log, ranks, environment)
            for point, (baseline, exported) in both.items():
                gains[point] = baseline.median_s / exported.median_s
                if exported.low_s > baseline.high_s and exported.median_s > baseline.median_s * (1 + NOISE):
                    slower[point] = gains[point]
        unmeasured = [line for line in _choosing(policy) if not any(_covers(line, point) for point in gains)]
        if not slower and not unmeasured:
            if (gain := geometric_mean(gains.values())) > 1.0:
                return ExportCheck(policy, gains, tuple(withdrawn))
            nothing = f"no export: without mpiric, the choices together gain nothing ({gain:.3f}×)"
            return ExportCheck(replace(policy, lines=()), withdrawn=tuple(withdrawn), refused=nothing)
        remaining = _without(policy, slower, unmeasured)
        withdrawn += _sentences(slower, unmeasured)
        policy = remaining
    return ExportCheck(replace(policy, lines=()), withdrawn=tuple(withdrawn))


def _choosing(policy: Policy) -> list[Line]:
    return [line for line in policy.lines if line.candidate != LIBRARY]


def _covers(line: Line, point: SweepPoint) -> bool:
    return line.covers(point.subject.collective, point.subject.shape, point.size)


def _points(plan: SweepPlan, policy: Policy, log: Log, ranks: Span) -> Iterator[SweepPoint]:
    """Yield the measured sizes of the collectives with a choice, on communicators of ``ranks`` ranks."""
    chosen = {line.collective for line in _choosing(policy)}
    measured = {(point.subject, point.size) for point in log.measured if point.candidate == LIBRARY}
    for subject, size in sorted(measured):
        if subject in plan.sizes and subject.collective in chosen and subject.shape.ranks in ranks:
            yield SweepPoint(subject, size, LIBRARY)


def _measured(
    plan: SweepPlan, policy: Policy, log: Log, ranks: Span, environment: Mapping[str, str]
) -> Plan[dict[SweepPoint, tuple[Measured, Measured]]]:
    """Return the times without and with the export, for the points with both."""
    points = list(_points(plan, policy, log, ranks))
    if not points:
        return {}
    sides: dict[bool, dict[SweepPoint, list[Measured]]] = {False: defaultdict(list), True: defaultdict(list)}
    for is_exported in _TURNS:
        limit_s = Costs(plan, log.measured).patience_s(points)
        result = yield from measure_points(plan, points, limit_s, environment if is_exported else {})
        for point, times in result.times:
            sides[is_exported][point].append(times)
    baseline, exported = (
        without_disturbed({point: averaged(LIBRARY, times) for point, times in side.items()}, tick_s())
        for side in (sides[False], sides[True])
    )
    return {point: (baseline[point], exported[point]) for point in baseline if point in exported}


def _without(policy: Policy, slower: Mapping[SweepPoint, float], unmeasured: list[Line]) -> Policy:
    """Remove slower choices; all choices of the collective where the point itself has none."""
    bad = list(unmeasured)
    for point in slower:
        at_point = [line for line in _choosing(policy) if _covers(line, point)]
        bad += at_point[:1] or [
            line for line in _choosing(policy) if line.collective == point.subject.collective
        ]
    lines = (replace(line, candidate=LIBRARY) if line in bad else line for line in policy.lines)
    return replace(policy, lines=tuple(lines))


def _sentences(slower: Mapping[SweepPoint, float], unmeasured: list[Line]) -> Iterator[str]:
    worst: dict[str, tuple[float, SweepPoint]] = {}
    for point, gain in slower.items():
        name = point.subject.collective
        worst[name] = min((gain, point), worst.get(name, (gain, point)))
    for name, (gain, point) in worst.items():
        yield f"{name}: {gain:.2f}× when exported, at {point.size} bytes on {point.subject.shape}"
    for name in dict.fromkeys(line.collective for line in unmeasured):
        yield f"{name}: its times with the exported choices were disturbed"

"""Measure the collectives of a library by size, ranks and ranks per node, and write policies.

Each job of an array measures some collectives on some communicators completely. Times that are compared are
thus measured in one job, on the same nodes. The element that ends last, or the job after the array, collects
all measurements and completes the sweep, as after an interruption.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import geometric_mean

from mpiric.host.command_log import masked
from mpiric.host.facts.time_slices import tick_s
from mpiric.host.files import is_directory, is_file
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import LIBRARY, LearnedPolicy, Line, Measured, Policy, Span
from mpiric.model.run import Plan
from mpiric.statistics.sampling import NOISE, SweepPoint, confirmed, learned_keys, winners
from mpiric.tuning.policy_files import disturbed_points, without_disturbed, write_learned
from mpiric.tuning.policy_merge import averaged
from mpiric.tuning.store import Lock
from mpiric.workflows.policies import by_ranks, chooses_something, export_policy, of_library, site_name
from mpiric.workflows.submit.array_rounds import ArrayRound, drop_after, is_double, was_cancelled
from mpiric.workflows.sweep.estimate import Costs
from mpiric.workflows.sweep.explore import Say, measure, measure_points, where
from mpiric.workflows.sweep.log import LOCK, LOG, Log, check_free, make_directory
from mpiric.workflows.sweep.plan import SweepPlan, shape_of
from mpiric.workflows.trials.users_lab import users_lab

SITE_HINT = "run as a user with write permission, or set $MPIRIC_POLICIES to another directory"


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


@dataclass
class Swept:
    """Result of a sweep."""

    learned: LearnedPolicy
    exported: ExportCheck
    points: int
    launches: int
    elapsed_s: float
    sentences: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # candidate → reason for its exclusion
    disturbed: dict[str, str] = field(default_factory=dict)  # point → reason why its time is not ranked


def sweep(plan: SweepPlan, host: Host, say: Say, tell: Say | None = None) -> Swept:
    """Measure until no further point is worth it or the budget is spent; Ctrl-C keeps the measurements.

    ``say`` gets messages that the next one may replace, ``tell`` gets lasting messages.
    """
    make_directory(plan.request.directory)
    check_free(plan.request.directory)
    lock = Lock.take(plan.request.directory / LOCK)
    try:
        return _sweep(plan, host, say, tell or say)
    finally:
        lock.release()


def _sweep(plan: SweepPlan, host: Host, say: Say, tell: Say) -> Swept:
    start_s = time.monotonic()
    request = plan.request
    log = Log(request.directory / LOG, plan, resume=request.resume)
    measurer = measure(plan, host, log, say, tell)
    times = confirmed(log.measured, log.fresh)
    disturbed = disturbed_points(times, tick_s())
    ranked = {point: measurement for point, measurement in log.measured.items() if point not in disturbed}
    unconfirmed = set(winners(ranked)) - log.fresh.keys()
    learned = LearnedPolicy(
        implementation=plan.mpi.implementation,
        version=plan.mpi.version,
        world=shape_of(plan.nodes),
        keys=learned_keys(times, plan.sizes, unconfirmed, disturbed),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(masked(request.argv))},
        collective_s=sum(times.calls * times.median_s for times in log.measured.values()),
    )
    with users_lab(plan.situation, host) as lab:
        exported = drive(check_export(plan, learned, log, host, say), lab.measure)
    sentences = export_policy(learned, request.directory, host, exported.policy)
    sentences += [exported.refused] if exported.refused else []
    sentences += [f"not exported: {sentence}" for sentence in exported.withdrawn]
    if disturbed:
        sentences.append(
            f"{len(disturbed)} of {len(times)} times were disturbed by other processes and are not used; "
            "use one CPU per rank and idle nodes to avoid this (details: --json)"
        )
    if unconfirmed:
        sentences.append("some gains are not confirmed yet; continue with --resume")
    if log.excluded:
        sentences.append(
            "excluded algorithms are not chosen, and --resume does not try them again; a new sweep does"
        )
    return Swept(
        learned,
        exported,
        measurer.points,
        measurer.launches,
        time.monotonic() - start_s,
        sentences,
        log.excluded,
        {
            f"{point.subject.collective} {point.candidate} {where(point)}": why
            for point, why in sorted(disturbed.items())
        },
    )


def for_site(learned: LearnedPolicy, exported: Policy, directory: Path, host: Host) -> list[str]:
    """Write the policy for the `mpiric run` of all users, and its exports to a directory for this MPI.

    ``exported`` has the choices of the policy that were measured without mpiric.
    """
    path = directory / site_name(learned.implementation, learned.version)
    exports = path.with_name(path.name.partition(".")[0])
    everybody = replace(learned, machine={})
    sentences = export_policy(everybody, exports, host, exported)
    write_learned(path, everybody)
    for file in (directory, exports, path, *exports.iterdir()):  # root's umask may hide files from users
        file.chmod(0o755 if is_directory(file) else 0o644)
    return [f"wrote {path}, which the `mpiric run` of all users applies", *sentences]


def work_on_array(
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
                main.add(point, times, fresh=True)
    return collected


_MOST_ROUNDS = 3  # limit of rounds that take slower choices out
_TURNS = (False, True, True, False)  # order of measurement; True: with the export


def check_export(
    plan: SweepPlan, learned: LearnedPolicy, log: Log, host: Host, say: Callable[[str], None]
) -> Plan[ExportCheck]:
    """Measure the export of a policy as users will run it: by the library alone, without mpiric in the ranks.

    Choices were measured one at a time, some of them by mpiric's runtime; the library's own form sets all of
    them at once, for ranges of sizes, and may change the algorithms of other calls. So the library runs with
    the exported settings and without them, in turn, at every measured size of the collectives with a choice.
    Choices that are slower with them are removed from the export, which is then measured again. Choices that
    gain nothing together are not exported.
    """
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


def _measured(
    plan: SweepPlan, policy: Policy, log: Log, ranks: Span, environment: Mapping[str, str]
) -> Plan[dict[SweepPoint, tuple[Measured, Measured]]]:
    """Return the times without and with the export, for the points with both.

    Points are the measured sizes of the collectives with a choice, on communicators of ``ranks`` ranks.
    """
    chosen = {line.collective for line in _choosing(policy)}
    measured = sorted({(point.subject, point.size) for point in log.measured if point.candidate == LIBRARY})
    points = [
        SweepPoint(subject, size, LIBRARY)
        for subject, size in measured
        if subject in plan.sizes and subject.collective in chosen and subject.shape.ranks in ranks
    ]
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

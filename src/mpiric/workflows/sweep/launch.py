"""Launches of a sweep: their candidates, settings and results."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

from mpiric.algorithms.library import algorithms_of, version_numbers
from mpiric.host.installation.native import native_part
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.json_text import read_fields
from mpiric.model.launch import Spelling
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import LIBRARY, Line, Measured, Named, Policy
from mpiric.model.run import Plan
from mpiric.statistics.sampling import SweepPoint
from mpiric.workflows.policies.files import lay_out
from mpiric.workflows.policies.tuner import strictly, tuner_for
from mpiric.workflows.sweep.estimate import Costs
from mpiric.workflows.sweep.plan import NONBLOCKING, SweepPlan
from mpiric.workflows.sweep.probe import PROBE, LaunchFailedError, run_launch

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

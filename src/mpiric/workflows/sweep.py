"""Measure a library's collectives over sizes, ranks and ranks a node, and write policies from it."""

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from math import inf
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.native import native_part
from mpiric.model.candidates import candidates_of, version_numbers
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.policy import LIBRARY, LearnedPolicy, Line, Measured, Named, Policy, Shape, order_of
from mpiric.model.spelling import Spelling
from mpiric.schedulers._slurm_submission import ROUNDS
from mpiric.tuning.lock import Lock
from mpiric.tuning.policy import write_learned
from mpiric.tuning.policy.merge import averaged
from mpiric.tuning.policy.sampling import Point, Subject, confirmed, learned_keys, next_points, winners
from mpiric.workflows.policies import export_policy, lay_out, site_name, strictly, tuner_for
from mpiric.workflows.sweep_log import Log
from mpiric.workflows.sweep_plan import PROBE, Prepared, run_launch

LOG, LOCK = "sweep.jsonl", "sweep.lock"
SITE_HINT = "only who may write there can do that; $MPIRIC_POLICIES names another directory"
_TURNS = 2  # of confirming each gain


@dataclass
class Effort:
    """What measuring took."""

    points: int = 0
    launches: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # candidate → why it was given up


@dataclass
class Swept:
    """What came of it."""

    learned: LearnedPolicy
    points: int
    launches: int
    elapsed_s: float
    words: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def sweep(prepared: Prepared, host: Host, say: Callable[[str], None]) -> Swept:
    """Measure until nothing more is worth it or the budget is spent; Ctrl-C keeps what there is."""
    make_place(prepared.request.directory)
    lock = Lock.take(prepared.request.directory / LOCK)
    try:
        return _sweep(prepared, host, say)
    finally:
        lock.release()


def _sweep(prepared: Prepared, host: Host, say: Callable[[str], None]) -> Swept:
    begun = time.monotonic()
    request = prepared.request
    log = Log(request.directory / LOG, prepared, resume=request.resume)
    effort = measure(prepared, host, log, say)
    left_open = set(winners(log.measured)) - log.fresh.keys()
    learned = LearnedPolicy(
        implementation=prepared.mpi.implementation,
        version=prepared.mpi.version,
        world=_world(prepared.nodes),
        keys=learned_keys(confirmed(log.measured, log.fresh), prepared.sizes, left_open),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(request.argv)},
        collective_s=sum(times.calls * times.median_s for times in log.measured.values()),
    )
    words = export_policy(learned, request.directory, host)
    if left_open:
        words.append("gains that are not confirmed yet are left open: go on with --resume")
    return Swept(learned, effort.points, effort.launches, time.monotonic() - begun, words, effort.failed)


def measure(prepared: Prepared, host: Host, log: Log, say: Callable[[str], None]) -> Effort:
    """Measure into ``log`` all that there is to measure; Ctrl-C ends it early."""
    effort = Effort()
    try:
        explore(prepared, host, log, say, effort)
        confirm(prepared, host, log, say, effort)
    except KeyboardInterrupt:
        say("interrupted: writing what was measured; go on with --resume")
    return effort


def explore(prepared: Prepared, host: Host, log: Log, say: Callable[[str], None], effort: Effort) -> None:
    """Measure until nothing more is worth it or the budget is spent."""
    begun, request = time.monotonic(), prepared.request
    measured, barred = log.measured, effort.failed

    def spent() -> bool:
        return request.budget_s is not None and time.monotonic() - begun > request.budget_s

    while not spent():
        left = _left(prepared.candidates, barred)
        wanted = next_points(prepared.sizes, left, measured, prepared.stride)
        if not wanted:
            break
        for assignment, points in _launches(wanted):
            if spent():
                break
            say(f"{len(measured)} of at most {prepared.points} points; {len(points)} in this launch")
            effort.launches += 1
            try:
                found = _measure(prepared, host, assignment, points)
            except MpiricError as error:
                _give_up(assignment, error, effort)
                continue
            for point, times in found:
                log.add(point, times)
                effort.points += 1
            missing = {point.subject.collective for point in points} - {
                point.subject.collective for point, _ in found
            }
            for collective, name in assignment:
                if collective in missing:
                    barred[f"{collective} {name}"] = "gave no time"


def make_place(directory: Path, hint: str = "name another --out") -> None:
    """Make a directory to write into. Raises NoRoomError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoRoomError(f"cannot make {directory}: {error.strerror}", hint=hint) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write into {directory}", hint=hint)


def forget(directory: Path) -> None:
    """Make the place for a new sweep: what an earlier one measured there does not count."""
    make_place(directory)
    if holder := Lock.holder(directory / LOCK):
        raise MpiricError(f"another sweep works in {directory} ({holder})", hint="name another --out")
    try:
        (directory / LOG).unlink(missing_ok=True)
        shutil.rmtree(directory / ROUNDS, ignore_errors=True)
    except OSError as error:
        raise NoRoomError(f"cannot write {directory}: {error.strerror}", hint="name another --out") from error


def confirm(
    prepared: Prepared, host: Host, log: Log, say: Callable[[str], None], effort: Effort, limit_s: float = inf
) -> None:
    """Measure what seems to beat the library once more, in turns with the library, until the limit."""
    begun = time.monotonic()
    wanted = [point for point in winners(log.measured) if point not in log.fresh]
    found: dict[Point, list[Measured]] = defaultdict(list)
    for turn in range(_TURNS if wanted else 0):
        launches = list(_launches(wanted))
        for assignment, points in launches if turn % 2 else reversed(launches):
            if time.monotonic() - begun > limit_s:
                break
            say(f"confirming gains, {len(wanted)} points, turn {turn + 1} of {_TURNS}")
            effort.launches += 1
            try:
                for point, times in _measure(prepared, host, assignment, points):
                    found[point].append(times)
            except MpiricError as error:
                _give_up(assignment, error, effort)
    for point, several in found.items():
        log.add_fresh(point, averaged(point.candidate, several))


def _give_up(assignment: Iterable[tuple[str, str]], error: MpiricError, effort: Effort) -> None:
    """Candidates that cannot run; the library's own must."""
    for collective, name in assignment:
        if name == LIBRARY:
            raise error
        effort.failed[f"{collective} {name}"] = error.message


def _left(candidates: Mapping[Subject, Sequence[str]], barred: Mapping[str, str]) -> dict[Subject, list[str]]:
    return {
        subject: [name for name in names if f"{subject.collective} {name}" not in barred]
        for subject, names in candidates.items()
    }


def _world(nodes: tuple[int, ...]) -> Shape:
    return Shape(len(nodes), len(set(nodes)), max(nodes.count(node) for node in set(nodes)), order_of(nodes))


def _launches(
    points: Iterable[Point],
) -> Iterator[tuple[tuple[tuple[str, str], ...], list[Point]]]:
    """The library's own choices by themselves; then one candidate of every collective at a time.

    What forces an algorithm of one collective may change what the library does in others.
    """
    by_name: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        by_name[point.subject.collective][point.candidate].append(point)
    own = [(collective, LIBRARY) for collective, names in by_name.items() if LIBRARY in names]
    if own:
        yield tuple(own), [point for collective, _ in own for point in by_name[collective].pop(LIBRARY)]
    while any(by_name.values()):
        chosen = tuple((collective, next(iter(names))) for collective, names in by_name.items() if names)
        yield chosen, [point for collective, name in chosen for point in by_name[collective].pop(name)]


def _measure(
    prepared: Prepared, host: Host, assignment: Iterable[tuple[str, str]], points: Sequence[Point]
) -> list[tuple[Point, Measured]]:
    request, mpi = prepared.request, prepared.mpi
    words = [
        f"{p.subject.collective}:{p.subject.shape.ranks}:{p.subject.shape.ranks_per_node}:{p.size}"
        for p in points
    ]
    program = (native_part(PROBE, mpi.abi_families[0]), str(request.seconds), *words)
    (segment,) = prepared.job.segments
    job = replace(prepared.job, segments=(replace(segment, program=program),))
    setting = _setting(prepared, tuple(assignment))
    rows = run_launch(request, job, host, mpi, setting, request.patience_s(len(points)))
    by_word = dict(zip(words, points, strict=True))
    found = []
    for row in rows:
        point = by_word.get(f"{row['collective']}:{row['ranks']}:{row['per_node']}:{row['bytes']}")
        if point is not None:
            times = (float(row["median_s"]), float(row["low_s"]), float(row["high_s"]))
            found.append((point, Measured(point.candidate, int(row["calls"]), *times)))
    return found


def _setting(prepared: Prepared, assignment: tuple[tuple[str, str], ...]) -> Spelling:
    """The library's variables, and for our own algorithms the runtime with a policy that names them."""
    mpi, tuner = prepared.mpi, tuner_for(prepared.mpi)
    environment: dict[str, str] = {}
    for collective, name in assignment:
        environment.update(_environment(mpi, collective, name))
    lines = tuple(Line(collective, name) for collective, name in assignment if name.startswith("own:"))
    if not lines:
        return Spelling(environment=environment)
    policy = lay_out(Policy(mpi.implementation, mpi.version, lines), prepared.request.directory)
    return Spelling(environment={**environment, **strictly(policy)}, preload=(tuner.library,))


def _environment(mpi: MpiLibrary, collective: str, name: str) -> dict[str, str]:
    """The library's variables, before MPI starts."""
    named = Named.parse(name)
    for candidate in candidates_of(mpi.implementation, collective, version_numbers(mpi.version)):
        if candidate.name == named.algorithm:
            given = dict(named.parameters)
            parameters = {p.environment: given[p.key] for p in candidate.parameters if p.key in given}
            return {**dict(candidate.environment), **parameters}
    return {}


def for_site(learned: LearnedPolicy, directory: Path, host: Host) -> list[str]:
    """The policy where everybody's `mpiric run` looks, and what goes with it in a directory of this MPI."""
    path = directory / site_name(learned.implementation, learned.version)
    beside = path.with_name(path.name.partition(".")[0])
    everybody = replace(learned, machine={})
    words = export_policy(everybody, beside, host)
    write_learned(path, everybody)
    for one in (directory, beside, path, *beside.iterdir()):  # root's umask may hide files from users
        one.chmod(0o755 if one.is_dir() else 0o644)
    return [f"wrote {path}, which everybody's `mpiric run` obeys", *words]

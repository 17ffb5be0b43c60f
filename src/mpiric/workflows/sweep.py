"""Measure a library's collectives over sizes, ranks and ranks a node, and write policies from it."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.host.native import native_part
from mpiric.model.candidates import candidates_of, version_numbers
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.policy import LIBRARY, LearnedPolicy, Measured, Named, Shape, order_of
from mpiric.model.spelling import Spelling
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.tuning.policy.sampling import Point, Subject, grid_points, learned_keys, next_points
from mpiric.workflows.policies import export_policy
from mpiric.workflows.understand import understand

COLLECTIVES = (
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
)
_PROBE, _IDENTITY = "probe-collectives", "probe-mpi"
_LOG = "sweep.jsonl"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}
_START_S = 2.0  # of a launch, for the estimate
_OVERHEAD = 1.5  # warm-up and rounding of a point's time
_LIMIT_S = 120.0  # of a launch, and as much again for each point


@dataclass(frozen=True)
class SweepRequest:
    """What the administrator asked for; ``argv`` is a launch line without a program."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path
    collectives: tuple[str, ...] = COLLECTIVES
    sizes: tuple[int, ...] = tuple(2**power for power in range(2, 23))
    ranks: tuple[int, ...] = ()  # empty: all, half of them, … 2
    per_node: tuple[int, ...] = ()  # empty: one, and as many as there are
    record: Path | None = None  # of `mpiric profile`: only calls and sizes that the program makes
    seconds: float = 0.05  # of one point
    budget_s: float | None = None
    thorough: bool = False  # every algorithm, not only those worth a whole program's trial
    resume: bool = False


@dataclass(frozen=True)
class Prepared:
    """The plan of a sweep, before anything was measured."""

    request: SweepRequest
    mpi: MpiLibrary
    job: Job
    nodes: tuple[int, ...]  # node of each rank of the world
    subjects: tuple[Subject, ...]
    sizes: tuple[int, ...]
    candidates: Mapping[Subject, tuple[str, ...]]

    @property
    def points(self) -> int:
        """Of the full grid, which active sampling stays far below."""
        return grid_points(self.subjects, self.sizes, self.candidates)

    @property
    def most_core_hours(self) -> float:
        """If the full grid had to be measured."""
        launches = 1 + max((len(names) for names in self.candidates.values()), default=0)
        rounds = max(1, len(self.sizes).bit_length())
        seconds = self.points * self.request.seconds * _OVERHEAD + launches * rounds * _START_S
        return seconds * len(self.nodes) / 3600


@dataclass
class Swept:
    """What came of it."""

    learned: LearnedPolicy
    points: int
    launches: int
    elapsed_s: float
    words: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # candidate → why it was given up


def prepare(request: SweepRequest, host: Host) -> Prepared:
    """Read the launch line, see where its ranks are, choose what to measure."""
    unknown = sorted(set(request.collectives) - set(COLLECTIVES))
    if unknown:
        raise MpiricError(f"no sweep of {', '.join(unknown)}", hint=f"there are {', '.join(COLLECTIVES)}")
    mpi = mpis.mpi_of_launcher(host, request.argv[0])
    if mpi is None:
        raise MismatchError(
            f"{request.argv[0]} does not say which MPI library it starts",
            hint="use that library's own mpiexec, with its path where several are installed",
        )
    program = native_part(_PROBE, mpi.abi_families[0])
    words = (*request.argv, program)
    job = understand(words, host, request.working_directory, request.environment).job
    nodes = _nodes(request, host, mpi)
    used = _used(request.record) if request.record else None
    shapes = _shapes(request, nodes)
    subjects = tuple(
        Subject(collective, shape)
        for collective in sorted(request.collectives)
        for shape in shapes
        if used is None or (collective, shape.ranks) in used
    )
    sizes = tuple(sorted({size for sizes in used.values() for size in sizes})) if used else request.sizes
    candidates = {
        subject: names for subject in subjects if len(names := _names(mpi, subject.collective, request)) > 1
    }
    if not candidates:
        raise MpiricError(
            "there is nothing to sweep",
            hint="the launch line needs 2 ranks or more, and the record collectives on as many ranks",
        )
    kept = tuple(subject for subject in subjects if subject in candidates)
    return Prepared(request, mpi, job, nodes, kept, sizes, candidates)


def _names(mpi: MpiLibrary, collective: str, request: SweepRequest) -> tuple[str, ...]:
    names = [LIBRARY]
    for candidate in candidates_of(mpi.implementation, collective, version_numbers(mpi.version)):
        if not (candidate.coarse or request.thorough):
            continue
        names.append(f"library:{candidate.name}")
        if request.thorough:
            names += [
                f"library:{candidate.name} {parameter.key}={value}"
                for parameter in candidate.parameters
                for value in parameter.values
            ]
    return tuple(names)


def _nodes(request: SweepRequest, host: Host, mpi: MpiLibrary) -> tuple[int, ...]:
    program = native_part(_IDENTITY, mpi.abi_families[0])
    rows = _run(request, host, mpi, [program, "identity"], {}, _LIMIT_S)
    hosts = [str(row.get("host", "")) for row in rows]
    numbering = {name: number for number, name in enumerate(dict.fromkeys(hosts))}
    return tuple(numbering[name] for name in hosts)


def _shapes(request: SweepRequest, nodes: tuple[int, ...]) -> tuple[Shape, ...]:
    """Those that the world has room for, each on the first nodes."""
    most = max(nodes.count(node) for node in set(nodes))
    halves = [len(nodes) >> shift for shift in range(len(nodes).bit_length())]
    found = {}
    for per_node in request.per_node or tuple(dict.fromkeys((most, 1))):
        for ranks in request.ranks or tuple(ranks for ranks in halves if ranks > 1):
            chosen = _members(nodes, ranks, per_node)
            if chosen:
                used = len(set(chosen))
                found[ranks, used] = Shape(
                    ranks, used, max(chosen.count(node) for node in chosen), order_of(chosen)
                )
    return tuple(found.values())


def _members(nodes: tuple[int, ...], ranks: int, per_node: int) -> tuple[int, ...]:
    """Node of each rank of the communicator that the probe makes; empty when there is no room for it."""
    wanted = -(-ranks // per_node)
    taken: dict[int, int] = defaultdict(int)
    chosen = []
    for node in nodes:
        if node < wanted and taken[node] < per_node:
            taken[node] += 1
            chosen.append(node)
    return tuple(chosen[:ranks]) if len(chosen) >= ranks > 1 else ()


def _used(place: Path) -> dict[tuple[str, int], set[int]]:
    """Collective and ranks → sizes, from what a recorded program called; both ends of each bin of sizes."""
    used: dict[tuple[str, int], set[int]] = defaultdict(set)
    for rank in read_record(place).ranks:
        for cell in rank.cells:
            collective = cell.function.removeprefix("MPI_").lower()
            if collective in COLLECTIVES and cell.communicator is not None:
                low, high = bin_bounds(cell.size_bin)
                ranks = rank.communicators[cell.communicator].size
                used[collective, ranks] |= {max(low, 4), max(high + 1, 4)}
    return dict(used)


def sweep(prepared: Prepared, host: Host, say: Callable[[str], None]) -> Swept:
    """Measure until nothing more is worth it or the budget is spent; Ctrl-C keeps what there is."""
    begun = time.monotonic()
    request = prepared.request
    log = _Log(request.directory / _LOG, prepared, resume=request.resume)
    measured, barred = log.measured, dict[str, str]()
    fresh = launches = 0

    def spent() -> bool:
        return request.budget_s is not None and time.monotonic() - begun > request.budget_s

    try:
        while not spent():
            wanted = next_points(
                prepared.subjects, prepared.sizes, _left(prepared.candidates, barred), measured
            )
            if not wanted:
                break
            for assignment, points in _launches(wanted):
                if spent():
                    break
                say(f"{len(measured)} of at most {prepared.points} points; {len(points)} in this launch")
                launches += 1
                try:
                    found = _measure(prepared, host, assignment, points)
                except MpiricError as error:
                    if assignment[0][1] == LIBRARY:
                        raise
                    barred.update((f"{collective} {name}", error.message) for collective, name in assignment)
                    continue
                for point, times in found:
                    log.add(point, times)
                    fresh += 1
                missing = {point.subject.collective for point in points} - {
                    point.subject.collective for point, _ in found
                }
                for collective, name in assignment:
                    if collective in missing:
                        barred[f"{collective} {name}"] = "gave no time"
    except KeyboardInterrupt:
        say("interrupted: writing what was measured; go on with --resume")
    learned = LearnedPolicy(
        implementation=prepared.mpi.implementation,
        version=prepared.mpi.version,
        world=_world(prepared.nodes),
        keys=learned_keys(measured, prepared.sizes),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(request.argv)},
        collective_s=sum(times.calls * times.median_s for times in measured.values()),
    )
    words = export_policy(learned, request.directory, host)
    return Swept(learned, fresh, launches, time.monotonic() - begun, words, barred)


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
    environment: dict[str, str] = {}
    for collective, name in assignment:
        environment.update(_environment(prepared.mpi, collective, name))
    request, mpi = prepared.request, prepared.mpi
    words = [
        f"{p.subject.collective}:{p.subject.shape.ranks}:{p.subject.shape.ranks_per_node}:{p.size}"
        for p in points
    ]
    program = [native_part(_PROBE, mpi.abi_families[0]), str(request.seconds), *words]
    rows = _run(request, host, mpi, program, environment, _LIMIT_S + len(points) * _LIMIT_S)
    by_word = dict(zip(words, points, strict=True))
    found = []
    for row in rows:
        point = by_word.get(f"{row['collective']}:{row['ranks']}:{row['per_node']}:{row['bytes']}")
        if point is not None:
            times = (float(row["median_s"]), float(row["low_s"]), float(row["high_s"]))
            found.append((point, Measured(point.candidate, int(row["calls"]), *times)))
    return found


def _environment(mpi: MpiLibrary, collective: str, name: str) -> dict[str, str]:
    """The library's variables, before MPI starts."""
    named = Named.parse(name)
    for candidate in candidates_of(mpi.implementation, collective, version_numbers(mpi.version)):
        if candidate.name == named.algorithm:
            given = dict(named.parameters)
            parameters = {p.environment: given[p.key] for p in candidate.parameters if p.key in given}
            return {**dict(candidate.environment), **parameters}
    return {}


def _run(
    request: SweepRequest,
    host: Host,
    mpi: MpiLibrary,
    program: Sequence[str],
    environment: Mapping[str, str],
    limit_s: float,
) -> list[dict[str, str]]:
    """One launch; the JSON lines that it printed. Raises ProgramFailedError."""
    job = understand((*request.argv, *program), host, request.working_directory, request.environment).job
    path = (*_under_name(request.directory, mpi), *mpi.library_path)
    spelling = Spelling(environment={**mpi.environment, **environment}, library_path=path)
    launch = launchers.render(job, [("sweep", "on", spelling)])
    whole: dict[str, str | None] = dict.fromkeys(launch.unset)
    done = host.run(
        launch.argv, environment={**request.environment, **whole, **launch.environment}, timeout_s=limit_s
    )
    if done.status != 0:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise ProgramFailedError(f"{launch.shell_line()[:300]} failed: {said}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _under_name(directory: Path, mpi: MpiLibrary) -> tuple[str, ...]:
    """Where the library answers to the name that the probes ask for; Debian's MPICH has another."""
    soname = _SONAMES.get(mpi.abi_families[0], mpi.soname)
    if soname == mpi.soname:
        return ()
    place = (directory / "lib").absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not (place / soname).is_symlink():
            (place / soname).symlink_to(mpi.library)
    except OSError as error:
        raise NoRoomError(f"cannot write {place}: {error.strerror}", hint="name another --out") from error
    return (str(place),)


class _Log:
    """Every measurement, written as it is made, so that a sweep can go on where it was interrupted."""

    def __init__(self, path: Path, prepared: Prepared, *, resume: bool) -> None:
        self._path = path
        self.measured: dict[Point, Measured] = {}
        head = {"mpi": prepared.mpi.label, "ranks": len(prepared.nodes), "nodes": len(set(prepared.nodes))}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume and path.is_file():
                self._read(head, {subject: subject for subject in prepared.subjects})
            else:
                path.write_text(json.dumps(head) + "\n", encoding="utf-8")
        except OSError as error:
            raise NoRoomError(f"cannot write {path}: {error.strerror}", hint="name another --out") from error

    def _read(self, head: Mapping[str, object], subjects: Mapping[Subject, Subject]) -> None:
        first, *rows = self._path.read_text(encoding="utf-8").splitlines() or ["{}"]
        try:
            if json.loads(first) != head:
                raise MismatchError(
                    f"{self._path} is of another sweep ({first[:200]})", hint="name another --out"
                )
            for row in rows:
                if not row.endswith("}"):
                    continue  # cut off while it was written
                known = json.loads(row)
                subject = Subject(known["collective"], Shape(**known["shape"]))
                if subject in subjects:
                    point = Point(subject, known["size"], known["times"]["name"])
                    self.measured[point] = Measured(**known["times"])
        except (ValueError, KeyError, TypeError) as error:
            raise MpiricError(f"{self._path} is damaged: {error}", hint="leave --resume out") from error

    def add(self, point: Point, times: Measured) -> None:
        """Remember it, here and on disk."""
        self.measured[point] = times
        known = {
            "collective": point.subject.collective,
            "shape": vars(point.subject.shape),
            "size": point.size,
            "times": vars(times),
        }
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(known) + "\n")


def for_site(learned: LearnedPolicy, directory: Path, host: Host) -> list[str]:
    """The same where everybody's `mpiric run` looks; the sentences that say what was written."""
    return export_policy(replace(learned, machine={}), directory, host)

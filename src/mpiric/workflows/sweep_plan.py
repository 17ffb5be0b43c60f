"""What a sweep measures: the launch line understood, its nodes, communicators, sizes and candidates."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.host.host import Host
from mpiric.host.native import native_part
from mpiric.model.candidates import candidates_of, own_algorithms, version_numbers
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.policy import LIBRARY, UNSIZED, Shape, order_of
from mpiric.model.spelling import Spelling
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.tuning.policy.sampling import STRIDE, Subject, grid_points
from mpiric.workflows.policies import tuner_for
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
# Blocks of all ranks together in a record
_HANDED_OVER_WHOLE = ("alltoall", "reduce_scatter", "reduce_scatter_block")
PROBE, _IDENTITY = "probe-collectives", "probe-mpi"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}
_START_S = 2.0  # of a launch, for the estimate
_OVERHEAD = 1.5  # warm-up and rounding of a point's time
_LIMIT_S = 120.0  # of a launch, and as much again for each point


@dataclass(frozen=True)
class SweepRequest:
    """What is asked for; ``argv`` is a launch line without a program."""

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
    limit_s: float | None = None  # of one launch; None: by the points in it
    thorough: bool = False  # every algorithm, not only those worth a whole program's trial
    own: bool = True  # mpiric's algorithms too, which need its runtime in the ranks
    resume: bool = False

    def patience_s(self, points: int) -> float:
        """How long one launch may take."""
        return self.limit_s or _LIMIT_S * (1 + points)


@dataclass(frozen=True)
class Prepared:
    """The plan of a sweep, before anything was measured."""

    request: SweepRequest
    job: Job  # of the first launch; in the others another program stands there
    mpi: MpiLibrary
    nodes: tuple[int, ...]  # node of each rank of the world
    sizes: Mapping[Subject, tuple[int, ...]]  # ascending
    candidates: Mapping[Subject, tuple[str, ...]]
    stride: int = STRIDE

    @property
    def points(self) -> int:
        """Of the full grid, which active sampling stays far below."""
        return grid_points(self.sizes, self.candidates)

    @property
    def most_core_hours(self) -> float:
        """If the full grid had to be measured."""
        launches = 1 + max((len(names) for names in self.candidates.values()), default=0)
        rounds = max((len(sizes).bit_length() for sizes in self.sizes.values()), default=1)
        seconds = self.points * self.request.seconds * _OVERHEAD + launches * rounds * _START_S
        return seconds * len(self.nodes) / 3600


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
    job = _job(request, host, mpi)
    nodes = _nodes(request, job, host, mpi)
    used = calls_of(request.record) if request.record else None
    if used and not request.ranks:  # communicators as large as the program's
        request = replace(request, ranks=tuple(sorted({ranks for _, ranks in used}, reverse=True)))
    wanted = {
        Subject(collective, shape): request.sizes if used is None else used.get((collective, shape.ranks), ())
        for collective in sorted(request.collectives)
        for shape in _shapes(request, nodes)
    }
    return _planned(request, job, mpi, nodes, wanted)


def prepare_calls(
    request: SweepRequest, mpi: MpiLibrary, calls: Mapping[Subject, Collection[int]], host: Host
) -> Prepared:
    """A sweep of these calls alone, each at its sizes, where the probe makes such communicators."""
    job = _job(request, host, mpi)
    nodes = _nodes(request, job, host, mpi)
    wanted = {
        subject: sizes
        for subject, sizes in calls.items()
        if subject.shape == _shape(_members(nodes, subject.shape.ranks, subject.shape.ranks_per_node))
    }
    return replace(_planned(request, job, mpi, nodes, wanted), stride=1)


def _planned(
    request: SweepRequest,
    job: Job,
    mpi: MpiLibrary,
    nodes: tuple[int, ...],
    wanted: Mapping[Subject, Collection[int]],
) -> Prepared:
    sizes = {
        subject: (0,) if subject.collective in UNSIZED else tuple(sorted(set(given)))
        for subject, given in wanted.items()
        if given
    }
    candidates = {
        subject: names for subject in sizes if len(names := _names(mpi, subject.collective, request)) > 1
    }
    if not candidates:
        raise MpiricError(
            "there is nothing to sweep",
            hint="the launch line needs 2 ranks or more, and the record collectives on as many ranks",
        )
    kept = {subject: sizes[subject] for subject in candidates}
    return Prepared(request, job, mpi, nodes, kept, candidates)


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
    if request.own and tuner_for(mpi).library:
        names += [f"own:{name}" for name in own_algorithms(collective)]
    return tuple(names)


def _job(request: SweepRequest, host: Host, mpi: MpiLibrary) -> Job:
    program = (native_part(_IDENTITY, mpi.abi_families[0]), "identity")
    return understand((*request.argv, *program), host, request.working_directory, request.environment).job


def _nodes(request: SweepRequest, job: Job, host: Host, mpi: MpiLibrary) -> tuple[int, ...]:
    rows = run_launch(request, job, host, mpi, Spelling(), request.patience_s(0))
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
            if shape := _shape(chosen):
                found[ranks, shape.nodes] = shape
    return tuple(found.values())


def _shape(nodes: tuple[int, ...]) -> Shape | None:
    """Of a communicator whose ranks are on these nodes; None without any."""
    if not nodes:
        return None
    return Shape(len(nodes), len(set(nodes)), max(nodes.count(node) for node in set(nodes)), order_of(nodes))


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


def calls_of(place: Path) -> dict[tuple[str, int], set[int]]:
    """Collective and ranks → sizes, from what a recorded program called; both ends of each bin of sizes.

    A record has what a rank hands over in one call; a policy means the block of one rank.
    """
    used: dict[tuple[str, int], set[int]] = defaultdict(set)
    for rank in read_record(place).ranks:
        for cell in rank.cells:
            collective = cell.function.removeprefix("MPI_").removesuffix("_c").lower()
            if collective in COLLECTIVES and cell.communicator is not None:
                low, high = bin_bounds(cell.size_bin)
                ranks = rank.communicators[cell.communicator].size
                parts = ranks if collective in _HANDED_OVER_WHOLE else 1
                used[collective, ranks] |= {max(low // parts, 4), max((high + 1) // parts, 4)}
    return dict(used)


def run_launch(
    request: SweepRequest,
    job: Job,
    host: Host,
    mpi: MpiLibrary,
    setting: Spelling,
    limit_s: float,
) -> list[dict[str, str]]:
    """One launch; the JSON lines that it printed. Raises ProgramFailedError."""
    path = (*_under_name(request.directory, mpi), *mpi.library_path)
    spelling = replace(setting, environment={**mpi.environment, **setting.environment}, library_path=path)
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

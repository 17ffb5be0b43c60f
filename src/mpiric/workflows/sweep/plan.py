"""What a sweep measures: the launch line understood, its nodes, communicators, sizes and candidates."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mpiric import launchers, mpis
from mpiric.algorithms.library import algorithms_of, version_numbers
from mpiric.algorithms.own import own_algorithms
from mpiric.host.host import TIMED_OUT, Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.policy import LIBRARY, UNSIZED, Shape, order_of
from mpiric.model.spelling import Spelling
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.tuning.policy.sampling import STRIDE, Subject, grid_points
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.policies.tuner import tuner_for

USUAL = (  # what applications spend their time in
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
    "scatterv",
)
_BLOCKING = (*USUAL, "exscan", "scan")
NONBLOCKING = tuple(f"i{name}" for name in sorted(_BLOCKING))
COLLECTIVES = (*sorted(_BLOCKING), *NONBLOCKING)  # those that the probe can call
GROUPS = {"usual": USUAL, "nonblocking": NONBLOCKING, "all": COLLECTIVES}
# Blocks of all ranks together in a record
_HANDED_OVER_WHOLE = ("alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block")
# Of these a rank holds a block for each
_IN_BLOCKS = (*_HANDED_OVER_WHOLE, "allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv")
_MOST_BYTES = 64 << 20  # of all blocks together; a rank of the probe has up to twice that
_ANY_SIZES = (64, 4096, 262144)  # of calls whose size nobody knows
_MOST_SIZES = 5  # of calls whose size a policy does not tell apart: all of them are measured
PROBE, _IDENTITY = "probe-collectives", "probe-mpi"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}
_LIMIT_S = 120.0  # of a launch, and as much again for each point


class LaunchFailedError(ProgramFailedError):
    """A launch came to no good end; what it had printed by then counts."""

    def __init__(
        self, message: str, rows: tuple[dict[str, str], ...] = (), status: int = 1, output: str = ""
    ) -> None:
        super().__init__(message)
        self.rows, self.output = rows, output
        self.timed_out = status == TIMED_OUT


@dataclass(frozen=True)
class SweepRequest:
    """The options of `mpiric sweep`; ``argv`` is a launch line without a program."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path
    collectives: tuple[str, ...] = USUAL
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
class SweepPlan:
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
        """Points of the full grid, which active sampling stays far below."""
        return grid_points(self.sizes, self.candidates)


def prepare(request: SweepRequest, host: Host) -> SweepPlan:
    """Read the launch line, see where its ranks are, choose what to measure."""
    unknown = sorted(set(request.collectives) - set(COLLECTIVES))
    if unknown:
        raise MpiricError(
            f"no sweep of {', '.join(unknown)}", hint=f"there are {', '.join((*COLLECTIVES, *GROUPS))}"
        )
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
) -> SweepPlan:
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
) -> SweepPlan:
    sizes = {subject: grid for subject, given in wanted.items() if (grid := _grid(subject, given))}
    candidates = {
        subject: names for subject in sizes if len(names := _names(mpi, subject.collective, request)) > 1
    }
    if not candidates:
        raise MpiricError(
            "there is nothing to sweep",
            hint="the launch line needs 2 ranks or more, the record collectives on as many ranks, and "
            f"{mpi.label} algorithms of them to choose from",
        )
    kept = {subject: sizes[subject] for subject in candidates}
    return SweepPlan(request, job, mpi, nodes, kept, candidates)


def in_blocks(collective: str) -> bool:
    """Whether a rank has a block for each of the others, or of each."""
    return collective.removeprefix("i") in _IN_BLOCKS


def _grid(subject: Subject, given: Collection[int]) -> tuple[int, ...]:
    """The sizes at which calls are measured, ascending; none where no rank has room for them."""
    if given and subject.collective in UNSIZED and not subject.has_one_choice:
        return (0,)
    sizes = set(given)
    if subject.has_one_choice and sizes:
        sizes = {size for size in sizes if size} or set(_ANY_SIZES)
    if in_blocks(subject.collective):
        sizes = {size for size in sizes if size * subject.shape.ranks <= _MOST_BYTES}
    return _spread(tuple(sorted(sizes))) if subject.has_one_choice else tuple(sorted(sizes))


def _spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The least, the largest and a few evenly between them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return tuple(sizes[at * (len(sizes) - 1) // (_MOST_SIZES - 1)] for at in range(_MOST_SIZES))


def _names(mpi: MpiLibrary, collective: str, request: SweepRequest) -> tuple[str, ...]:
    """Where none of the library's algorithms counts as usual, all of them do."""
    names = [LIBRARY]
    known = algorithms_of(mpi.implementation, collective, version_numbers(mpi.version))
    every = request.thorough or not any(candidate.coarse for candidate in known)
    for candidate in known:
        if not (candidate.coarse or every):
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
    return parse_job((*request.argv, *program), host, request.working_directory, request.environment).job


def _nodes(request: SweepRequest, job: Job, host: Host, mpi: MpiLibrary) -> tuple[int, ...]:
    rows = run_launch(request, job, host, mpi, Spelling(), request.patience_s(0))
    hosts = [str(row.get("host", "")) for row in rows]
    numbering = {name: number for number, name in enumerate(dict.fromkeys(hosts))}
    return tuple(numbering[name] for name in hosts)


def _shapes(request: SweepRequest, nodes: tuple[int, ...]) -> tuple[Shape, ...]:
    """Shapes that the world has room for, each on the first nodes."""
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
    """Shape of a communicator whose ranks are on these nodes; None without any."""
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
                parts = ranks if collective.removeprefix("i") in _HANDED_OVER_WHOLE else 1
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
    """One launch; the JSON lines that it printed. Raises LaunchFailedError."""
    path = (*_under_name(request.directory, mpi), *mpi.library_path)
    spelling = replace(setting, environment={**mpi.environment, **setting.environment}, library_path=path)
    launch = launchers.render(job, [("sweep", "on", spelling)])
    whole: dict[str, str | None] = dict.fromkeys(launch.unset)
    done = host.run(
        launch.argv, environment={**request.environment, **whole, **launch.environment}, timeout_s=limit_s
    )
    rows = tuple(_rows(done.stdout))
    if done.status != 0:
        output = " ".join((done.stderr or done.stdout).split())[-300:]
        raise LaunchFailedError(f"{launch.shell_line()[:300]} failed: {output}", rows, done.status, output)
    return list(rows)


def _rows(stdout: str) -> Iterator[dict[str, str]]:
    """Whole lines alone: a launch that was ended may leave a part of one."""
    for line in stdout.splitlines():
        if line.startswith("{") and line.endswith("}"):
            with suppress(ValueError):
                yield json.loads(line)


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

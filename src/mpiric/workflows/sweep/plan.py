"""Options and plan of a sweep, and launches of its probes: nodes, communicators, sizes and candidates."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric import mpis
from mpiric.algorithms.library import algorithms_of, own_algorithms, version_numbers
from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.lab.lab import drive
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError, ProgramFailedError
from mpiric.model.job import Job, Spelling
from mpiric.model.json_text import json_lines
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.policy import LIBRARY, UNSIZED, Shape, order_of
from mpiric.model.run import Outcome, Phase, Plan, Run
from mpiric.model.situation import EVERYTHING, Observation, Situation
from mpiric.profile.cells import bin_bounds
from mpiric.profile.read import read_record
from mpiric.statistics.sampling import STRIDE, Subject, grid_points
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.policies import tuner_for
from mpiric.workflows.trials.expected import situation_of
from mpiric.workflows.trials.users_lab import PrintingRun, users_lab

USUAL = tuple(  # most important collectives of applications
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast gather gatherv reduce reduce_scatter "
    "reduce_scatter_block scatter scatterv".split()
)
_BLOCKING = (*USUAL, "exscan", "scan")
NONBLOCKING = tuple(f"i{name}" for name in sorted(_BLOCKING))
COLLECTIVES = (*sorted(_BLOCKING), *NONBLOCKING)  # collectives that the probe can call
GROUPS = {"usual": USUAL, "nonblocking": NONBLOCKING, "all": COLLECTIVES}
# Collectives whose size in a record is the sum of all blocks
_HANDED_OVER_WHOLE = ("alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block")
# Collectives in which a rank holds a block for each rank
_IN_BLOCKS = (*_HANDED_OVER_WHOLE, "allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv")
_MOST_BYTES = 64 << 20  # size of all blocks together; a rank of the probe needs up to twice that
_ANY_SIZES = (64, 4096, 262144)  # sizes of calls whose size is unknown
_MOST_SIZES = 5  # number of sizes where a policy has one choice for all: all of them are measured
_LIMIT_S = 120.0  # time limit of a launch, plus as much for each point


@dataclass(frozen=True)
class SweepRequest:
    """The options of `mpiric sweep`; ``argv`` is a launch line without a program."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path
    collectives: tuple[str, ...] = USUAL
    sizes: tuple[int, ...] = tuple(2**power for power in range(2, 23))
    ranks: tuple[int, ...] = ()  # communicator sizes; empty for all ranks, half of them, … 2
    per_node: tuple[int, ...] = ()  # ranks per node; empty for one, and all
    record: Path | None = None  # record of `mpiric profile`, whose calls and sizes are measured
    seconds: float = 0.05  # time of measuring a point
    budget_s: float | None = None
    limit_s: float | None = None  # time limit of a launch; None to derive it from the points
    thorough: bool = False  # every algorithm and parameter, not only the usual ones
    own_algorithms: bool = True  # also mpiric's own algorithms, which need its runtime in the ranks
    resume: bool = False

    def patience_s(self, points: int) -> float:
        """Return the time limit of a launch of some points."""
        return self.limit_s or _LIMIT_S * (1 + points)


@dataclass(frozen=True)
class SweepPlan:
    """The plan of a sweep, before anything was measured."""

    request: SweepRequest
    situation: Situation  # situation of the first launch; later ones start other programs
    nodes: tuple[int, ...]  # node of each rank of the world
    sizes: Mapping[Subject, tuple[int, ...]]  # ascending
    candidates: Mapping[Subject, tuple[str, ...]]
    stride: int = STRIDE

    @property
    def job(self) -> Job:
        """Return the job of the first launch."""
        return self.situation.job

    @property
    def mpi(self) -> MpiLibrary:
        """Return the MPI library whose collectives are measured."""
        return self.situation.mpi

    @property
    def points(self) -> int:
        """Return the number of points of the full grid; active sampling needs far fewer."""
        return grid_points(self.sizes, self.candidates)


def prepare(request: SweepRequest, host: Host) -> SweepPlan:
    """Read the launch line, find the nodes of its ranks, and choose the calls to measure."""
    unknown = sorted(set(request.collectives) - set(COLLECTIVES))
    if unknown:
        raise MpiricError(
            f"--collectives: unknown name {', '.join(unknown)}",
            hint=f"use some of {', '.join((*COLLECTIVES, *GROUPS))}",
        )
    mpi = mpis.mpi_of_launcher(host, request.argv[0])
    if mpi is None:
        raise MismatchError(
            f"the MPI library of {request.argv[0]} is unknown",
            hint="use the mpiexec of the library, with its path if several libraries are installed",
        )
    situation = _first_launch(request, host, mpi)
    nodes = _nodes(request, situation, host)
    used = calls_of(request.record) if request.record else None
    if used and not request.ranks:  # communicator sizes of the program
        request = replace(request, ranks=tuple(sorted({ranks for _, ranks in used}, reverse=True)))
    calls = {
        Subject(collective, shape): request.sizes if used is None else used.get((collective, shape.ranks), ())
        for collective in sorted(request.collectives)
        for shape in shapes_of(request, nodes)
    }
    return _planned(request, situation, nodes, calls)


def prepare_calls(
    request: SweepRequest, mpi: MpiLibrary, calls: Mapping[Subject, Collection[int]], host: Host
) -> SweepPlan:
    """Plan a sweep of these calls at their sizes, where the probe can make such communicators."""
    situation = _first_launch(request, host, mpi)
    nodes = _nodes(request, situation, host)
    possible = {
        subject: sizes
        for subject, sizes in calls.items()
        if subject.shape == shape_in(nodes, subject.shape.ranks, subject.shape.ranks_per_node)
    }
    return replace(_planned(request, situation, nodes, possible), stride=1)


def _planned(
    request: SweepRequest,
    situation: Situation,
    nodes: tuple[int, ...],
    calls: Mapping[Subject, Collection[int]],
) -> SweepPlan:
    mpi = situation.mpi
    sizes = {
        subject: grid for subject, requested in calls.items() if (grid := grid_sizes(subject, requested))
    }
    candidates = {
        subject: names for subject in sizes if len(names := _names(mpi, subject.collective, request)) > 1
    }
    if not candidates:
        raise MpiricError(
            "no collective with a choice of algorithms can be measured",
            hint=f"start at least 2 ranks, name other --collectives, or another library than {mpi.label}",
        )
    choices = {subject: sizes[subject] for subject in candidates}
    return SweepPlan(request, replace(situation, nodes=len(set(nodes))), nodes, choices, candidates)


def _names(mpi: MpiLibrary, collective: str, request: SweepRequest) -> tuple[str, ...]:
    """Return the usual candidates for a collective; all of them with --thorough or if none is usual."""
    names = [LIBRARY]
    algorithms = algorithms_of(mpi.implementation, collective, version_numbers(mpi.version))
    every = request.thorough or not any(candidate.coarse for candidate in algorithms)
    for candidate in algorithms:
        if not (candidate.coarse or every):
            continue
        names.append(f"library:{candidate.name}")
        if request.thorough:
            names += [
                f"library:{candidate.name} {parameter.key}={value}"
                for parameter in candidate.parameters
                for value in parameter.values
            ]
    if request.own_algorithms and tuner_for(mpi).library:
        names += [f"own:{name}" for name in own_algorithms(collective)]
    return tuple(names)


def _first_launch(request: SweepRequest, host: Host, mpi: MpiLibrary) -> Situation:
    """Return the situation of a launch whose program reports the node of each rank."""
    program = (native_part(IDENTITY, mpi.abi_families[0]), "identity")
    parsed = parse_job((*request.argv, *program), host, request.working_directory, request.environment)
    return situation_of(parsed, mpi, Observation(0.0), EVERYTHING, host)


def _nodes(request: SweepRequest, situation: Situation, host: Host) -> tuple[int, ...]:
    with users_lab(situation, host) as lab:
        launch = run_launch(situation, Spelling(), request.patience_s(0), request.directory)
        rows = drive(launch, lab.measure)
    hosts = [str(row.get("host", "")) for row in rows]
    numbering = {name: number for number, name in enumerate(dict.fromkeys(hosts))}
    return tuple(numbering[name] for name in hosts)


def shapes_of(request: SweepRequest, nodes: tuple[int, ...]) -> tuple[Shape, ...]:
    """Return the shapes that fit into the world, each on the first nodes."""
    full = max(nodes.count(node) for node in set(nodes))
    halves = [len(nodes) >> shift for shift in range(len(nodes).bit_length())]
    shapes = {}
    for per_node in request.per_node or tuple(dict.fromkeys((full, 1))):
        for ranks in request.ranks or tuple(ranks for ranks in halves if ranks > 1):
            if shape := shape_in(nodes, ranks, per_node):
                shapes[ranks, shape.nodes] = shape
    return tuple(shapes.values())


def shape_of(nodes: tuple[int, ...]) -> Shape:
    """Return the shape of a communicator whose ranks are on these nodes."""
    return Shape(len(nodes), len(set(nodes)), max(nodes.count(node) for node in set(nodes)), order_of(nodes))


def shape_in(nodes: tuple[int, ...], ranks: int, per_node: int) -> Shape | None:
    """Return the shape of the probe's communicator with these ranks; None if it does not fit."""
    node_count = -(-ranks // per_node)
    used: dict[int, int] = defaultdict(int)
    chosen = []
    for node in nodes:
        if node < node_count and used[node] < per_node:
            used[node] += 1
            chosen.append(node)
    return shape_of(tuple(chosen[:ranks])) if len(chosen) >= ranks > 1 else None


def in_blocks(collective: str) -> bool:
    """Return whether a rank has a block for or from each rank."""
    return collective.removeprefix("i") in _IN_BLOCKS


def grid_sizes(subject: Subject, requested: Collection[int]) -> tuple[int, ...]:
    """Return the sizes at which calls are measured, ascending; none if they need too much memory."""
    if requested and subject.collective in UNSIZED and not subject.has_one_choice:
        return (0,)
    sizes = set(requested)
    if subject.has_one_choice and sizes:
        sizes = {size for size in sizes if size} or set(_ANY_SIZES)
    if in_blocks(subject.collective):
        sizes = {size for size in sizes if size * subject.shape.ranks <= _MOST_BYTES}
    return _spread(tuple(sorted(sizes))) if subject.has_one_choice else tuple(sorted(sizes))


def _spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the smallest, the largest and a few sizes evenly between them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return tuple(sizes[at * (len(sizes) - 1) // (_MOST_SIZES - 1)] for at in range(_MOST_SIZES))


def calls_of(place: Path) -> dict[tuple[str, int], set[int]]:
    """Return the sizes of recorded calls by collective and ranks: both ends of each bin of sizes.

    A record has the bytes that a rank passes in one call; a policy has the block of one rank.
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


PROBE, IDENTITY = "probe-collectives", "probe-mpi"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}


class LaunchFailedError(ProgramFailedError):
    """A launch failed; ``rows`` were printed before."""

    def __init__(
        self,
        message: str,
        rows: tuple[dict[str, Any], ...] = (),
        output: str = "",
        *,
        timed_out: bool = False,
    ) -> None:
        super().__init__(message)
        self.rows, self.output, self.timed_out = rows, output, timed_out


def run_launch(
    situation: Situation, setting: Spelling, limit_s: float, directory: Path
) -> Plan[list[dict[str, Any]]]:
    """Make one launch and return the JSON lines that it printed. Raises LaunchFailedError.

    A library that is installed under another name than the probe's gets a link in ``directory``.
    """
    mpi = situation.mpi
    path = (*_under_name(directory, mpi), *mpi.library_path)
    around = replace(setting, environment={**mpi.environment, **setting.environment}, library_path=path)
    trial = yield Run(
        Configuration(), Phase.OBSERVE, limit_s=limit_s, probe=PrintingRun(around), situation=situation
    )
    out, err = (
        Path(name).read_text(errors="replace") if name and exists(name) else ""
        for name in (trial.stdout, trial.stderr)
    )
    # Complete lines only, since the last line of an ended launch may be cut off.
    rows = tuple(json_lines(out))
    if trial.outcome is not Outcome.OK:
        output = " ".join((err or out or trial.reason).split())[-300:]
        line = render(Configuration(), situation, around).shell_line()[:300]
        raise LaunchFailedError(
            f"{line} failed: {output}", rows, output, timed_out=trial.outcome is Outcome.TIMED_OUT
        )
    return list(rows)


def _under_name(directory: Path, mpi: MpiLibrary) -> tuple[str, ...]:
    """Return a directory with a link to the library under the name that the probes need (Debian's MPICH)."""
    soname = _SONAMES.get(mpi.abi_families[0], mpi.soname)
    if soname == mpi.soname:
        return ()
    links = (directory / "lib").absolute()
    try:
        links.mkdir(parents=True, exist_ok=True)
        if not (links / soname).is_symlink():
            (links / soname).symlink_to(mpi.library)
    except OSError as error:
        raise NoRoomError(f"cannot write {links}: {error.strerror}", hint="name another --out") from error
    return (str(links),)

"""Run the mapping engine (src/mapper) on a problem file and read the slot of each rank."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.mapping import MachineSlots, Numbers, RankGraph, SlotTree, Weights

_MAGIC = b"MPIRMAP2"
_MOST = 2.0**61  # upper bound for sums of weight times distance
_LIMIT_S = 86400.0
_OWN_LINK = 16  # Routes::own_link in src/mapper/machine.hpp
_FINE = 2.0**20  # resolution of fractional weights
_TINY = 2.0**-500


@dataclass(frozen=True)
class EngineSettings:
    """Options of the engine."""

    preset: str = "eco"
    objective: str = "hop-bytes"
    threads: int = 1
    seed: int = 1
    capacity: int = 0  # largest weight of a slot; 0: one rank per slot
    limit_s: float = 0.0  # time limit, makes runs differ; 0: no limit


@dataclass(frozen=True)
class LinkRoutes:
    """Links that messages between groups of a level use: all routes in one array."""

    level: int
    speeds: Weights  # speed of each link relative to a group's own link
    starts: Numbers  # the route from a to b begins at starts[a * groups + b]
    links: Numbers


@dataclass(frozen=True)
class SharedUse:
    """Use of a resource that the ranks of a group share: use of each rank, level of the groups."""

    level: int
    use_of: Weights


@dataclass(frozen=True)
class EngineAnswer:
    """Slot of each rank, with statistics of the engine."""

    slots: Numbers
    algorithm: str
    proposals: dict[str, float]  # objective that each algorithm reached, in the engine's units
    seconds: float


@dataclass(frozen=True)
class EngineProblem:
    """Traffic, machine and initial order of a mapping."""

    graph: RankGraph
    tree: SlotTree
    initial: Numbers  # slot of each rank
    routes: LinkRoutes | None = None
    shared: SharedUse | None = None


def run_engine(host: Host, problem: EngineProblem, settings: EngineSettings) -> EngineAnswer:
    """Find an order that is at least as good as the initial order."""
    program = native_part("mpiric-mapper")
    with tempfile.TemporaryDirectory(prefix="mpiric-map-") as directory:
        problem_file, order = Path(directory) / "problem", Path(directory) / "order"
        with problem_file.open("wb") as file:
            _write(file, problem, settings.capacity)
        options = ["--preset", settings.preset, "--objective", settings.objective]
        options += ["--seed", str(settings.seed), "--threads", str(settings.threads)]
        if settings.limit_s:
            options += ["--time-limit", str(settings.limit_s)]
        done = host.run([program, str(problem_file), str(order), *options], timeout_s=_LIMIT_S)
        if done.status != 0:
            why = (done.stderr.strip().splitlines() or [f"exit status {done.status}"])[-1]
            raise MpiricError(
                f"the search for an order failed: {why}",
                hint="report this defect of mpiric, with the command",
                exit_code=ExitCode.INTERNAL,
            )
        answer: dict[str, Any] = json.loads(done.stdout)
        slots = np.array(order.read_bytes().split(), dtype=np.int64)
    return EngineAnswer(slots, answer["algorithm"], answer["proposals"], answer["seconds"])


def _write(file: BinaryIO, problem: EngineProblem, capacity: int) -> None:
    graph, tree, routes, shared = problem.graph, problem.tree, problem.routes, problem.shared
    distances = _scaled_integers(np.concatenate((tree.distances, tree.matrix.ravel())))
    costs = np.zeros(0, dtype=np.int64)
    if routes is not None:
        costs = np.maximum(1, np.rint(_OWN_LINK / routes.speeds)).astype(np.int64)
    farthest = max(float(_OWN_LINK), float(distances.max()), float(costs.max(initial=0)))
    weights = np.maximum(1, _scaled_integers(graph.weights * 2, _MOST / farthest))
    outer = len(tree.matrix)
    head = [
        graph.size,
        len(graph.targets),
        tree.slots,
        len(tree.groups),
        outer,
        len(graph.extents),
        capacity,
        len(costs),
        0 if routes is None else routes.level,
        0 if routes is None else len(routes.links),
        int(shared is not None),
        0 if shared is None else shared.level,
    ]
    file.write(_MAGIC)
    file.write(np.array(head, dtype=np.uint64).tobytes())
    _put(file, graph.offsets, np.uint64)
    _put(file, graph.targets, np.uint32)
    _put(file, weights, np.int64)
    _put(file, graph.rank_weights if capacity else np.ones(graph.size), np.int64)
    _put(file, distances[: len(tree.distances)], np.int64)
    for group in tree.groups:
        _put(file, group, np.uint32)
    _put(file, distances[len(tree.distances) :], np.int64)
    _put(file, np.array(graph.extents), np.uint64)
    _put(file, problem.initial, np.uint32)
    if routes is not None:
        _put(file, costs, np.int64)
        _put(file, routes.starts, np.uint64)
        _put(file, routes.links, np.uint32)
    if shared is not None:
        _put(file, _scaled_integers(shared.use_of, _MOST / 4), np.int64)


def _put(file: BinaryIO, values: npt.NDArray[Any], kind: type[np.generic]) -> None:
    data = values.astype(kind).tobytes()
    file.write(data + bytes(-len(data) % 8))


def _scaled_integers(values: npt.NDArray[np.float64], largest_sum: float = _MOST) -> Numbers:
    """Return the values as integers, scaled if they are fractional or their sum is above ``largest_sum``."""
    largest = float(values.max(initial=0))
    scale = 1.0
    if not np.array_equal(values, np.floor(values)) and largest > 0:
        if largest < _TINY:  # the scale would not be finite
            values, largest = values / _TINY, largest / _TINY
        scale = 10.0 ** math.floor(math.log10(_FINE / largest))
    total = float(values.sum())
    if total * scale > largest_sum:
        scale = largest_sum / total
    scaled: Numbers = np.rint(values * scale).astype(np.int64)
    return scaled


_MOST_NODES = 1024  # largest number of nodes whose routes fit into memory


def link_routes(machine: MachineSlots) -> LinkRoutes | None:
    """Return the links from every node to every other; None without a network."""
    if machine.network is None or machine.network_nodes is None:
        return None
    at = machine.network_nodes
    if len(at) > _MOST_NODES:
        raise MpiricError(
            f"the machine has {len(at)} nodes, too many for routes",
            hint=f"the limit with --network is {_MOST_NODES} nodes; omit it",
        )
    routes = machine.network.route(np.repeat(at, len(at)), np.tile(at, len(at)))
    order = np.argsort(routes.messages, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(routes.messages, minlength=len(at) ** 2))))
    used, links = np.unique(routes.links[order], return_inverse=True)
    return LinkRoutes(machine.tree.node_level, machine.network.link_speeds[used], starts, links)

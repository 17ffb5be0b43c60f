"""The engine in src/mapper: a problem goes in as a file, the slot of every rank comes out as one."""

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import ExitCode, MpiricError
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree, Weights

_MAGIC = b"MPIRMAP2"
_MOST = 2.0**61  # sums of weight times distance stay below
_LIMIT_S = 86400.0
_OWN_LINK = 16  # Routes::own_link in src/mapper/machine.hpp
_FINE = 2.0**20  # steps in the largest weight that is no whole number
_TINY = 2.0**-500


@dataclass(frozen=True)
class EngineSettings:
    """How hard to try, and for what."""

    preset: str = "eco"
    objective: str = "hop-bytes"
    threads: int = 1
    seed: int = 1
    capacity: int = 0  # most weight in a slot; 0: one rank a slot
    limit_s: float = 0.0  # 0: none; with one the order is not the same in every run


@dataclass(frozen=True)
class LinkRoutes:
    """The links that messages between groups of a level take, for the engine: routes one after the other."""

    level: int
    speeds: Weights  # of each link, in those of a group's own
    starts: Numbers  # of the route from a to b, at a * groups + b; and the end of the last
    links: Numbers


@dataclass(frozen=True)
class SharedUse:
    """A resource that the ranks of a group share: what each uses of it, and the level of the groups."""

    level: int
    use_of: Weights


@dataclass(frozen=True)
class EngineAnswer:
    """The slot of every rank, and what the engine says of it."""

    slots: Numbers
    algorithm: str
    proposals: dict[str, float]  # what each algorithm reached, in the engine's units
    seconds: float


@dataclass(frozen=True)
class EngineProblem:
    """What is to be mapped onto what, and what counts beside distances."""

    graph: RankGraph
    tree: SlotTree
    given: Numbers  # slot of each rank today
    routes: LinkRoutes | None = None
    shared: SharedUse | None = None


def run_engine(host: Host, what: EngineProblem, settings: EngineSettings) -> EngineAnswer:
    """Find an order that is at least as good as the one given."""
    program = native_part("mpiric-mapper")
    with tempfile.TemporaryDirectory(prefix="mpiric-map-") as directory:
        problem, order = Path(directory) / "problem", Path(directory) / "order"
        with problem.open("wb") as file:
            _write(file, what, settings.capacity)
        words = ["--preset", settings.preset, "--objective", settings.objective]
        words += ["--seed", str(settings.seed), "--threads", str(settings.threads)]
        if settings.limit_s:
            words += ["--time-limit", str(settings.limit_s)]
        done = host.run([program, str(problem), str(order), *words], timeout_s=_LIMIT_S)
        if done.status != 0:
            why = (done.stderr.strip().splitlines() or [f"it ended with status {done.status}"])[-1]
            raise MpiricError(f"the mapping engine failed: {why}", exit_code=ExitCode.INTERNAL)
        answer: dict[str, Any] = json.loads(done.stdout)
        slots = np.array(order.read_bytes().split(), dtype=np.int64)
    return EngineAnswer(slots, answer["algorithm"], answer["proposals"], answer["seconds"])


def _write(file: BinaryIO, what: EngineProblem, capacity: int) -> None:
    graph, tree, routes, shared = what.graph, what.tree, what.routes, what.shared
    distances = _whole_numbers(np.concatenate((tree.distances, tree.matrix.ravel())))
    costs = np.zeros(0, dtype=np.int64) if routes is None else _link_costs(routes)
    farthest = max(float(_OWN_LINK), float(distances.max()), float(costs.max(initial=0)))
    weights = np.maximum(1, _whole_numbers(graph.weights * 2, _MOST / farthest))
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
    _put(file, what.given, np.uint32)
    if routes is not None:
        _put(file, costs, np.int64)
        _put(file, routes.starts, np.uint64)
        _put(file, routes.links, np.uint32)
    if shared is not None:
        _put(file, _whole_numbers(shared.use_of, _MOST / 4), np.int64)


def _link_costs(routes: LinkRoutes) -> Numbers:
    """Costs of a unit of traffic on each link; a group's own link has the engine's ``Routes::own_link``."""
    costs: Numbers = np.maximum(1, np.rint(_OWN_LINK / routes.speeds)).astype(np.int64)
    return costs


def _put(file: BinaryIO, values: npt.NDArray[Any], kind: type[np.generic]) -> None:
    data = values.astype(kind).tobytes()
    file.write(data + bytes(-len(data) % 8))


def _whole_numbers(values: npt.NDArray[np.float64], most: float = _MOST) -> Numbers:
    """The values, scaled where they are no whole numbers or their sum is above ``most``."""
    largest = float(values.max(initial=0))
    scale = 1.0
    if not np.array_equal(values, np.floor(values)) and largest > 0:
        if largest < _TINY:  # what scales it up would not be a finite number
            values, largest = values / _TINY, largest / _TINY
        scale = 10.0 ** math.floor(math.log10(_FINE / largest))
    total = float(values.sum())
    if total * scale > most:
        scale = most / total
    scaled: Numbers = np.rint(values * scale).astype(np.int64)
    return scaled

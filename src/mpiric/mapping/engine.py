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
from mpiric.model.rank_graph import Numbers, RankGraph, SlotTree

_MAGIC = b"MPIRMAP1"
_MOST = 2.0**61  # sums of weight times distance stay below
_LIMIT_S = 86400.0
_FINE = 2.0**20  # steps in the largest weight that is no whole number


@dataclass(frozen=True)
class EngineSettings:
    """How hard to try, and for what."""

    preset: str = "eco"
    objective: str = "hop-bytes"
    threads: int = 1
    seed: int = 1
    capacity: int = 0  # most weight in a slot; 0: one rank a slot


@dataclass(frozen=True)
class EngineAnswer:
    """The slot of every rank, and what the engine says of it."""

    slots: Numbers
    algorithm: str
    proposals: dict[str, float]  # what each algorithm reached, in the engine's units
    seconds: float


def run_engine(
    host: Host, graph: RankGraph, tree: SlotTree, given: Numbers, settings: EngineSettings
) -> EngineAnswer:
    """Find an order that is at least as good as the one given."""
    program = native_part("mpiric-mapper")
    with tempfile.TemporaryDirectory(prefix="mpiric-map-") as directory:
        problem, order = Path(directory) / "problem", Path(directory) / "order"
        with problem.open("wb") as file:
            _write(file, graph, tree, given, settings.capacity)
        words = ["--preset", settings.preset, "--objective", settings.objective]
        words += ["--seed", str(settings.seed), "--threads", str(settings.threads)]
        done = host.run([program, str(problem), str(order), *words], timeout_s=_LIMIT_S)
        if done.status != 0:
            why = (done.stderr.strip().splitlines() or [f"it ended with status {done.status}"])[-1]
            raise MpiricError(f"the mapping engine failed: {why}", exit_code=ExitCode.INTERNAL)
        answer: dict[str, Any] = json.loads(done.stdout)
        slots = np.array(order.read_bytes().split(), dtype=np.int64)
    return EngineAnswer(slots, answer["algorithm"], answer["proposals"], answer["seconds"])


def _write(file: BinaryIO, graph: RankGraph, tree: SlotTree, given: Numbers, capacity: int) -> None:
    distances = _whole_numbers(np.concatenate((tree.distances, tree.matrix.ravel())))
    farthest = max(1.0, float(distances.max()))
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
        0,
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
    _put(file, given, np.uint32)


def _put(file: BinaryIO, values: npt.NDArray[Any], kind: type[np.generic]) -> None:
    data = values.astype(kind).tobytes()
    file.write(data + bytes(-len(data) % 8))


def _whole_numbers(values: npt.NDArray[np.float64], most: float = _MOST) -> Numbers:
    """The values, scaled where they are no whole numbers or their sum is above ``most``."""
    total, largest = float(values.sum()), float(values.max(initial=0))
    scale = 1.0
    if not np.array_equal(values, np.floor(values)) and largest > 0:
        scale = 10.0 ** math.floor(math.log10(_FINE / largest))
    if total * scale > most:
        scale = most / total
    scaled: Numbers = np.rint(values * scale).astype(np.int64)
    return scaled

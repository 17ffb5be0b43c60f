"""Other programs that map a graph onto a machine: a file goes in, the slot of each vertex comes out."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpiric.model.mapping import Numbers, RankGraph

_MT_KAHYPAR = """
import sys
import mtkahypar
graph_path, out, preset, threads, imbalance, fan_outs, distances = sys.argv[1:]
fan_outs = [int(word) for word in fan_outs.split(":")]
distances = [int(word) for word in distances.split(":")]
slots = 1
for fan_out in fan_outs:
    slots *= fan_out
def distance(a, b):
    for fan_out, each in zip(fan_outs, distances):
        a, b = a // fan_out, b // fan_out
        if a == b:
            return each
pairs = [(a, b) for a in range(slots) for b in range(a + 1, slots)]
mtkahypar.set_seed(1)
library = mtkahypar.initialize(int(threads), print_warnings=False)
context = library.context_from_preset(getattr(mtkahypar.PresetType, preset))
context.set_mapping_parameters(slots, float(imbalance))
context.logging = False
graph = library.graph_from_file(graph_path, context, mtkahypar.FileFormat.METIS)
target = library.create_target_graph(context, slots, len(pairs), pairs, [distance(a, b) for a, b in pairs])
mapped = graph.map_onto_graph(target, context)
with open(out, "w") as file:
    file.write("".join(f"{mapped.block_id(v)}\\n" for v in graph.nodes()))
"""


_MOST_WEIGHT = 1e8  # sum of all edges; its product with distances must not overflow


@dataclass(frozen=True)
class PeerTask:
    """A graph, and groups of one size on each level of the machine, innermost first."""

    graph: RankGraph
    fan_outs: tuple[int, ...]
    distances: tuple[float, ...]
    threads: int = 1
    imbalance: float = 0.03


@dataclass(frozen=True)
class PeerAnswer:
    """The slot of each vertex, and the time to compute it."""

    slots: Numbers
    cpu_s: float
    elapsed_s: float


def kahip(task: PeerTask, preset: str, program: Path) -> PeerAnswer:
    """KaHIP's global multisection: `global_multisection` of the wheel."""
    options = [
        f"--preconfiguration={preset}",
        f"--imbalance={task.imbalance * 100:g}",
        "--seed=1",
        "--output_filename={out}",
    ]
    options.append(f"--hierarchy_parameter_string={_joined(task.fan_outs)}")
    options.append(f"--distance_parameter_string={_joined(task.distances)}")
    libraries = {"LD_LIBRARY_PATH": str(program.parents[1] / "lib")}
    return _run(task, [str(program), "{graph}", *options], libraries)


def mt_kahypar(task: PeerTask, preset: str, directory: Path) -> PeerAnswer:
    """Mt-KaHyPar, mapping onto a graph, from the directory of its wheel; preset DEFAULT or QUALITY."""
    command = [
        sys.executable,
        "-c",
        _MT_KAHYPAR,
        "{graph}",
        "{out}",
        preset,
        str(task.threads),
        f"{task.imbalance:g}",
    ]
    command += [_joined(task.fan_outs), _joined(task.distances)]
    return _run(task, command, {"PYTHONPATH": str(directory)})


def scotch(task: PeerTask, strategy: str, program: Path) -> PeerAnswer:
    """Scotch's `gmap` onto a tree of groups; strategy q (quality) or s (speed)."""
    levels = [
        f"{fan_out} {distance:g}" for fan_out, distance in zip(task.fan_outs, task.distances, strict=True)
    ]
    target = f"tleaf\n{len(levels)} {' '.join(reversed(levels))}\n"
    command = [str(program), f"-b{task.imbalance:g}", f"-c{strategy}", "{scotch}", "{target}", "{mapping}"]
    library = str(program.parents[1] / "lib" / "x86_64-linux-gnu")
    return _run(task, command, {"LD_LIBRARY_PATH": library}, target=target)


def _run(
    task: PeerTask, command: Sequence[str], variables: Mapping[str, str], target: str = ""
) -> PeerAnswer:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        graph, out, mapping = directory / "graph.metis", directory / "out", directory / "mapping"
        graph.write_text(_metis(task.graph))
        if target:
            (directory / "scotch").write_text(_scotch(task.graph))
            (directory / "target").write_text(target)
        paths = {"graph": graph, "out": out, "mapping": mapping}
        paths |= {"scotch": directory / "scotch", "target": directory / "target"}
        filled = [_filled(word, paths) for word in command]
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(filled, env={**os.environ, **variables}, check=True, capture_output=True)
        elapsed_s, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if target:
            table = np.loadtxt(mapping, dtype=np.int64, skiprows=1)
            slots = np.zeros(task.graph.size, dtype=np.int64)
            slots[table[:, 0]] = table[:, 1]
        else:
            slots = np.loadtxt(out, dtype=np.int64)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return PeerAnswer(slots, cpu_s, elapsed_s)


def _filled(word: str, paths: Mapping[str, Path]) -> str:
    for name, path in paths.items():
        word = word.replace(f"{{{name}}}", str(path))
    return word


def _integer_weights(graph: RankGraph) -> Numbers:
    """Return integer edge weights: doubled, or scaled down so that sums fit into 31 bits."""
    scale = min(2.0, _MOST_WEIGHT / float(graph.weights.sum()))
    return np.maximum(np.rint(graph.weights * scale), 1).astype(np.int64)


def _metis(graph: RankGraph) -> str:
    """Return the graph in METIS format with integer edge weights."""
    weights = _integer_weights(graph)
    cells = np.stack((graph.targets + 1, weights), axis=1)
    rows = np.split(cells, graph.offsets[1:-1])
    lines = (" ".join(map(str, row.ravel().tolist())) for row in rows)
    return f"{graph.size} {len(graph.targets) // 2} 001\n" + "\n".join(lines) + "\n"


def _scotch(graph: RankGraph) -> str:
    weights = _integer_weights(graph)
    cells = np.stack((weights, graph.targets), axis=1)
    rows = np.split(cells, graph.offsets[1:-1])
    lines = (f"{len(row)} " + " ".join(map(str, row.ravel().tolist())) for row in rows)
    return f"0\n{graph.size} {len(graph.targets)}\n0 010\n" + "\n".join(lines) + "\n"


def _joined(numbers: Sequence[float]) -> str:
    return ":".join(f"{number:g}" for number in numbers)

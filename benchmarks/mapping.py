"""Orders of ranks: quality and time of the mapping engine beside KaHIP, Mt-KaHyPar and Scotch."""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mapping_peers import PeerAnswer, PeerTask, kahip, mt_kahypar, scotch
from benchmarks._report import Result, options, run
from mpiric.host.facts.local import LocalHost
from mpiric.mapping.graph import graph_of
from mpiric.mapping.hierarchy import uniform_tree
from mpiric.mapping.patterns import grid_graph, lines_graph
from mpiric.mapping.read import read_graph
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.machine_slots import MachineSlots
from mpiric.model.rank_graph import RankGraph, SlotTree, hop_bytes
from mpiric.workflows.mapping.machine import MachineRequest, machine_for, read_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.record import recorded_traffic

_COLUMNS = {
    "graph": "graph", "by": "by", "objective": "hop-bytes", "ratio": "of the contiguous order",
    "cpu_s": "CPU s", "elapsed_s": "s", "heaviest": "heaviest slot", "time_us": "predicted µs",
    "verdict": "verdict",
}  # fmt: skip
# 256 nodes that hold 4×4 of a periodic grid: 16 of 64 neighbours are on other nodes.
_HEAT = 256 * (16 * 10 + 48 * 1)
_PRESETS = ("fast", "eco", "strong")


@dataclass(frozen=True)
class _Case:
    name: str
    make: Callable[[], RankGraph]
    fan_outs: tuple[int, ...]
    distances: tuple[float, ...]
    presets: tuple[str, ...] = _PRESETS
    optimum: float | None = None  # where it is known
    threads: int = 1

    @cached_property
    def graph(self) -> RankGraph:
        return self.make()

    @cached_property
    def tree(self) -> SlotTree:
        return uniform_tree(self.fan_outs, self.distances)

    @property
    def is_exact(self) -> bool:
        return self.graph.size == self.tree.slots


def random_geometric(ranks: int, degree: float, seed: int) -> RankGraph:
    """Points in the unit square in random order; neighbours are nearer than what gives the mean degree."""
    points = np.random.default_rng(seed).random((ranks, 2))
    radius = (degree / (np.pi * ranks)) ** 0.5
    across = int(1 / radius)
    cells = (points * across).astype(np.int64)
    key = cells[:, 0] * across + cells[:, 1]
    order = np.argsort(key, kind="stable")
    starts = np.searchsorted(key[order], np.arange(across * across + 1))
    found = []
    for dx, dy in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
        x, y = cells[:, 0] + dx, cells[:, 1] + dy
        near = np.flatnonzero((x < across) & (y >= 0) & (y < across))
        other = x[near] * across + y[near]
        counts = starts[other + 1] - starts[other]
        sources = np.repeat(near, counts)
        within = np.arange(len(sources)) - np.repeat(np.cumsum(counts) - counts, counts)
        targets = order[np.repeat(starts[other], counts) + within]
        is_near = ((points[sources] - points[targets]) ** 2).sum(axis=1) < radius**2
        is_new = (sources < targets) if (dx, dy) == (0, 0) else np.ones(len(sources), dtype=bool)
        found.append((sources[is_near & is_new], targets[is_near & is_new]))
    sources, targets = (np.concatenate(ends) for ends in zip(*found, strict=True))
    return graph_of(ranks, sources, targets, np.full(len(sources), 2.0))


def power_law(ranks: int, edges: int, seed: int) -> RankGraph:
    """Ends drawn with a probability that falls with the rank's number: a few talk to very many."""
    drawn = np.random.default_rng(seed).random((2, edges))
    ends = (ranks * drawn**2.5).astype(np.int64)
    return graph_of(ranks, ends[0], ends[1], np.full(edges, 2.0))


def shuffled(graph: RankGraph, seed: int) -> RankGraph:
    """The graph with its ranks renamed at random."""
    names = np.random.default_rng(seed).permutation(graph.size)
    return graph_of(graph.size, names[graph.sources], names[graph.targets], graph.weights)


def cases(given: argparse.Namespace) -> list[_Case]:
    """The graphs named on the command line, or one like them; grids; with --large a million ranks."""
    process = ((4, 8, 8), (1, 10, 100))
    size = 4096 if given.quick else 32768
    presets = ("fast", "eco") if given.quick else _PRESETS
    found = [_Case(path.stem, partial(read_graph, path), *process, presets) for path in given.graph]
    if not found:
        make = partial(random_geometric, size, 9.8, 1)
        found = [_Case("random geometric", make, *process, presets)]

    def grid(extents: tuple[int, ...], stencil: str) -> Callable[[], RankGraph]:
        return partial(grid_graph, extents, stencil, periodic=True)

    def mixed(make: Callable[[], RankGraph]) -> Callable[[], RankGraph]:
        return lambda: shuffled(make(), 1)

    cube: Any = ((16, 2, 4, 32), (1, 2, 5, 20), ("fast", "eco"))
    found += [
        _Case("12×12×12, nodes of 12", grid((12, 12, 12), "7"), (12, 144), (0, 1), ("fast",), 144 * 32),
        _Case("FFT pencils 16×16", partial(lines_graph, (16, 16), (0, 1)), (16, 16), (1, 10), ("fast",)),
        _Case("heat 64×64, shuffled", mixed(grid((64, 64), "5")), (16, 256), (1, 10), cube[2], _HEAT),
        _Case("16×16×16", grid((16, 16, 16), "7"), *cube),
        _Case("16×16×16, shuffled", mixed(grid((16, 16, 16), "7")), *cube),
        _Case("16×16×16 of 27 points", grid((16, 16, 16), "27"), *cube),
        _Case("16×16×16 of 27 points, shuffled", mixed(grid((16, 16, 16), "27")), *cube),
    ]
    found += [_recorded(path) for path in given.record]
    if given.large:
        machine: Any = ((64, 16, 32, 32), (1, 5, 10, 20), ("fast",), None, 2)
        halo = partial(grid_graph, (128, 128, 64), "7", periodic=False)
        found += [
            _Case("2^20, halo", halo, *machine),
            _Case("2^20, halo, shuffled", mixed(halo), *machine),
            _Case("2^20, random geometric", partial(random_geometric, 2**20, 12, 1), *machine),
            _Case("2^20, power law", partial(power_law, 2**20, 2**23, 1), *machine),
        ]
    return [case for case in found if not given.only or any(word in case.name for word in given.only)]


def _recorded(path: Path) -> _Case:
    """The traffic of a run, its ranks renamed at random: an order that nobody chose."""
    graph = shuffled(recorded_traffic(path).graph, 1)
    nodes, rest = divmod(graph.size, 4)
    if rest or nodes < 2:
        raise MpiricError(f"{path} has {graph.size} ranks", hint="record 8, 12, 16 or more ranks")
    return _Case(f"{path.name}, shuffled", lambda: graph, (4, nodes), (1, 10), ("fast", "eco"))


def _mpiric(case: _Case, preset: str) -> dict[str, Any]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    mapped = map_ranks(
        MapRequest(
            case.graph,
            MachineSlots.plain(case.tree),
            imbalance=0.03,
            preset=preset,
            threads=case.threads,
        ),
        LocalHost(),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _row(case, f"mpiric {preset}", mapped.objective, cpu_s, mapped.seconds, mapped.heaviest_slot) | {
        "whole_s": time.perf_counter() - begin,
        "algorithm": mapped.algorithm,
    }


def _peers(
    case: _Case, given: argparse.Namespace
) -> Iterator[tuple[str, Callable[[], list[dict[str, Any]]]]]:
    """What is given and can have several ranks in a slot, with whole distances."""
    task = PeerTask(case.graph, case.fan_outs, case.distances, case.threads)
    found: list[tuple[str, Callable[[], PeerAnswer]]] = []
    if given.kahip is not None:
        found += [(f"KaHIP {preset}", partial(kahip, task, preset, given.kahip)) for preset in case.presets]
    if given.mt_kahypar is not None:
        for preset in ("DEFAULT", *(() if given.quick else ("QUALITY",))):
            answer = partial(mt_kahypar, task, preset, given.mt_kahypar)
            found.append((f"Mt-KaHyPar {preset.lower()}", answer))
    if given.scotch is not None:
        found.append(("Scotch, quality", partial(scotch, task, "q", given.scotch)))
    for by, answer in found:
        yield by, partial(_peer_rows, case, by, answer)


def _peer_rows(case: _Case, by: str, run_peer: Callable[[], PeerAnswer]) -> list[dict[str, Any]]:
    answer = run_peer()
    heaviest = int(np.bincount(answer.slots).max())
    reached = hop_bytes(case.graph, case.tree, answer.slots)
    return [_row(case, by, reached, answer.cpu_s, answer.elapsed_s, heaviest)]


def _dragonfly() -> Iterator[dict[str, Any]]:
    """A grid on nodes of a dragonfly whose switches route adaptively: spreading costs nothing there."""
    graph = grid_graph((8, 8), "1,0:1000000;0,1:1000000", periodic=True)
    request = MachineRequest(network="dragonfly:2x4x8:adaptive")
    host = LocalHost()
    machine = machine_for(graph, request, read_machine(request, host))
    mapped = map_ranks(MapRequest(graph, machine), host)
    for by, cost in (("given", mapped.before), ("mpiric eco", mapped.found)):
        yield {
            "graph": "8×8 on a dragonfly",
            "by": by,
            "objective": round(cost.hop_bytes),
            "ratio": round(cost.hop_bytes / mapped.before.hop_bytes, 3),
            "time_us": None if cost.time_s is None else round(cost.time_s * 1e6, 1),
            "verdict": mapped.verdict.value if by != "given" else "",
        }


def _row(
    case: _Case, by: str, objective: float, cpu_s: float | None, elapsed_s: float | None, heaviest: int
) -> dict[str, Any]:
    slots = np.arange(case.graph.size) * case.tree.slots // case.graph.size
    return {
        "graph": case.name,
        "by": by,
        "objective": round(objective),
        "ratio": round(objective / hop_bytes(case.graph, case.tree, slots), 3),
        "cpu_s": None if cpu_s is None else round(cpu_s, 2),
        "elapsed_s": None if elapsed_s is None else round(elapsed_s, 2),
        "heaviest": heaviest,
    }


def work(given: argparse.Namespace) -> Result:
    """All cases, one after the other; KaHIP where it is given and may put several ranks into a slot."""
    for path, how in ((given.kahip, "pip install --target DIR kahip"), (given.scotch, "apt install scotch")):
        if path is not None and not path.is_file():
            raise NotFoundError(f"{path} is not there", hint=how)
    kept = KeptRows("mapping", given)
    for case in cases(given):
        if case.optimum is not None:
            row = partial(_row, case, "known optimum", case.optimum, None, None, 1)
            kept.add(f"{case.name}, known optimum", lambda row=row: [row()])
        for preset in case.presets:
            kept.add(f"{case.name}, mpiric {preset}", lambda c=case, p=preset: [_mpiric(c, p)])
        if not case.is_exact:
            for name, measure in _peers(case, given):
                kept.add(f"{case.name}, {name}", measure)
    kept.add("dragonfly", _dragonfly)
    return Result(
        _COLUMNS,
        kept.rows,
        f"Weighted hop-bytes over ordered pairs; one thread, two where ranks are 2^20.{kept.remark}",
    )


def main() -> int:
    """Parse the options and measure."""
    parser = options("mapping", __doc__ or "")
    parser.add_argument(
        "--graph", type=Path, action="append", default=[], help="a METIS graph of 2^15 vertices"
    )
    parser.add_argument("--kahip", type=Path, help="global_multisection of the kahip wheel")
    parser.add_argument("--mt-kahypar", type=Path, help="directory that the mtkahypar wheel is installed in")
    parser.add_argument("--scotch", type=Path, help="scotch_gmap of Debian's package scotch")
    parser.add_argument(
        "--record", type=Path, action="append", default=[], help="a record of mpiric profile, onto nodes of 4"
    )
    parser.add_argument("--large", action="store_true", help="2^20 ranks as well")
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="graphs with this in their name"
    )
    offer_parts(parser)
    return run("mapping", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

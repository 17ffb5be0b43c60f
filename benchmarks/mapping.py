"""Rank orders: compare quality and time of the mapping engine with KaHIP, Mt-KaHyPar and Scotch."""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mapping_cases import IMBALANCE, PRESETS, MappingCase, cases
from benchmarks._mapping_peers import PeerAnswer, PeerTask, kahip, mt_kahypar, scotch
from benchmarks._report import Result, options, run
from mpiric.host.facts.local import LocalHost
from mpiric.mapping.patterns import grid_graph
from mpiric.model.errors import NotFoundError
from mpiric.model.mapping import MachineSlots, hop_bytes
from mpiric.workflows.mapping.machine import MachineRequest, machine_for, read_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks

_COLUMNS = {
    "graph": "graph", "by": "by", "objective": "hop-bytes", "ratio": "of the contiguous order",
    "cpu_s": "CPU s", "elapsed_s": "s", "heaviest": "heaviest slot", "time_us": "predicted µs",
    "verdict": "verdict",
}  # fmt: skip
_SHORTEST_S = 0.1  # shortest CPU time that is compared
_MOST_OVER = 1.03  # limit of a peer's heaviest slot relative to mpiric's
_MOST_PAIRED = 512  # slots whose distances Mt-KaHyPar is given pair by pair


def _mpiric(case: MappingCase, preset: str) -> dict[str, Any]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    mapped = map_ranks(
        MapRequest(
            case.graph,
            MachineSlots.plain(case.tree),
            imbalance=IMBALANCE,
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
    case: MappingCase, arguments: argparse.Namespace
) -> Iterator[tuple[str, Callable[[], list[dict[str, Any]]]]]:
    """Yield the selected peers, with mpiric's imbalance: none if each slot takes one rank."""
    imbalance = 0.0 if case.is_exact else IMBALANCE
    task = PeerTask(case.graph, case.fan_outs, case.distances, case.threads, imbalance)
    answers: list[tuple[str, Callable[[], PeerAnswer]]] = []
    if arguments.kahip is not None:
        answers += [(f"KaHIP {preset}", partial(kahip, task, preset, arguments.kahip)) for preset in PRESETS]
    if arguments.mt_kahypar is not None and case.tree.slots <= _MOST_PAIRED:
        for preset in ("DEFAULT", *(() if arguments.quick else ("QUALITY",))):
            answer = partial(mt_kahypar, task, preset, arguments.mt_kahypar)
            answers.append((f"Mt-KaHyPar {preset.lower()}", answer))
    if arguments.scotch is not None:
        answers.append(("Scotch, quality", partial(scotch, task, "q", arguments.scotch)))
    for by, answer in answers:
        yield by, partial(_peer_rows, case, by, answer)


def _plain(case: MappingCase) -> Iterator[dict[str, Any]]:
    """Measure the orders that ignore the graph: two of the launchers, and a random one."""
    ranks, slots = case.graph.size, case.tree.slots
    nodes = int(case.tree.nodes[-1]) + 1
    block = np.arange(ranks) * slots // ranks
    dealt = np.arange(ranks) % nodes * (ranks // nodes) + np.arange(ranks) // nodes
    by = {
        "contiguous": block,
        "round robin": block[dealt],
        "random": block[np.random.default_rng(1).permutation(ranks)],
    }
    for name, order in by.items():
        heaviest = int(np.bincount(order).max())
        yield _row(case, name, hop_bytes(case.graph, case.tree, order), None, None, heaviest)


def _peer_rows(case: MappingCase, by: str, run_peer: Callable[[], PeerAnswer]) -> list[dict[str, Any]]:
    answer = run_peer()
    heaviest = int(np.bincount(answer.slots).max())
    reached = hop_bytes(case.graph, case.tree, answer.slots)
    return [_row(case, by, reached, answer.cpu_s, answer.elapsed_s, heaviest)]


def _dragonfly() -> Iterator[dict[str, Any]]:
    """Measure a grid on a dragonfly with adaptive routing, where spreading costs nothing."""
    graph = grid_graph((8, 8), "1,0:1000000;0,1:1000000", periodic=True)
    request = MachineRequest(network="dragonfly:2x4x8:adaptive")
    host = LocalHost()
    machine = machine_for(graph, request, read_machine(request, host))
    mapped = map_ranks(MapRequest(graph, machine), host)
    for by, cost in (("given", mapped.before), ("mpiric eco", mapped.after)):
        yield {
            "graph": "8×8 on a dragonfly",
            "by": by,
            "objective": round(cost.hop_bytes),
            "ratio": round(cost.hop_bytes / mapped.before.hop_bytes, 3),
            "time_us": None if cost.time_s is None else round(cost.time_s * 1e6, 1),
            "verdict": mapped.verdict.value if by != "given" else "",
        }


def _row(
    case: MappingCase, by: str, objective: float, cpu_s: float | None, elapsed_s: float | None, heaviest: int
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


def _goal(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence: quality of eco compared with KaHIP strong, time compared with KaHIP eco."""
    by = {(row["graph"], row["by"]): row for row in rows}
    quality, times = dict[str, float](), dict[str, float]()
    for (graph, name), measured in by.items():
        strong, eco = by.get((graph, "KaHIP strong")), by.get((graph, "KaHIP eco"))
        if name != "mpiric eco" or strong is None or eco is None:
            continue
        if strong["heaviest"] <= max(1, _MOST_OVER * measured["heaviest"]):
            quality[graph] = measured["objective"] / strong["objective"]
        if max(eco["cpu_s"], measured["cpu_s"]) >= _SHORTEST_S:
            times[graph] = measured["cpu_s"] / eco["cpu_s"]
    if not quality or not times:
        return ""
    worst, slowest = max(quality, key=quality.__getitem__), max(times, key=times.__getitem__)
    return (
        f" mpiric eco has at most {quality[worst]:.3f} times KaHIP strong's hop-bytes ({worst}; goal: 1.05), "
        f"in at most {times[slowest]:.2f} times KaHIP eco's CPU time ({slowest}; goal: 2; where one of them "
        f"takes {_SHORTEST_S:g} s)."
    )


def work(arguments: argparse.Namespace) -> Result:
    """Measure all cases, with the selected peers."""
    for path, how in (
        (arguments.kahip, "pip install --target DIR kahip"),
        (arguments.scotch, "apt install scotch"),
    ):
        if path is not None and not path.is_file():
            raise NotFoundError(f"{path} does not exist", hint=how)
    table = KeptRows("mapping", arguments)
    for case in cases(arguments):
        if case.optimum is not None:
            row = partial(_row, case, "known optimum", case.optimum, None, None, 1)
            table.add(f"{case.name}, known optimum", lambda row=row: [row()])
        table.add(f"{case.name}, plain orders", partial(_plain, case))
        for preset in case.presets:
            table.add(f"{case.name}, mpiric {preset}", lambda c=case, p=preset: [_mpiric(c, p)])
        if case.has_peers:
            for name, measure in _peers(case, arguments):
                table.add(f"{case.name}, {name}", measure)
    if not arguments.only or "dragonfly" in arguments.only:
        table.add("dragonfly", _dragonfly)
    return Result(
        _COLUMNS,
        table.rows,
        "Weighted hop-bytes over ordered pairs; one thread, two where ranks are 2^20. Where a slot takes one "
        "rank, peers get no imbalance; an answer of theirs with a heavier slot does not count."
        f"{_goal(table.rows)}{table.remark}",
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

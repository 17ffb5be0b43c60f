"""Programs on hosts in an order that keeps neighbours apart: recorded, mapped, run in the order found."""

import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks._mark_programs import lammps_words
from benchmarks._places import Place
from benchmarks._programs import Bed
from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.native import native_part
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.machine_slots import LevelCost, MachineSpec
from mpiric.model.rank_order import RankOrder
from mpiric.tuning.proof.confidence_sequence import centre, median_interval
from mpiric.workflows.mapping.machine import record_on_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.orders import text_of
from mpiric.workflows.mapping.plan_orders import keep_first
from mpiric.workflows.mapping.record import recorded_traffic

ROOT = Path(__file__).parents[1]
_FORMS = {"mpich": "hydra", "intelmpi": "intelmpi", "openmpi": "prrte"}
# Of the slow network of the lab, as `mpiric fabric` measures it there, and of its hosts' memory.
_COSTS = {"node": LevelCost(2.0, 3000.0), "network": LevelCost(1050.0, 11.3)}


@dataclass(frozen=True)
class PlacedProgram:
    """A program, by the words that run it under a library."""

    name: str
    words: Callable[[Bed], list[str]]


def placed_programs(*, quick: bool) -> tuple[PlacedProgram, ...]:
    """The pairs of the tests, the heat solver of the examples, and LAMMPS where it is for the library."""
    pairs = ROOT / "tests/system/programs/pairs.c"
    melt = ROOT / "tests/system/programs/in.lj"
    steps = "50" if quick else "300"
    return (
        PlacedProgram("pairs", lambda bed: [bed.build(pairs, "pairs"), steps]),
        PlacedProgram("heat3d", lambda bed: [bed.program("heat3d"), "32", steps]),
        PlacedProgram("LAMMPS", lambda bed: [*_lammps(bed), "-log", "none", "-in", str(melt)]),
    )


def _lammps(bed: Bed) -> list[str]:
    """Debian's is linked to Open MPI 4, whose ABI version 5 has too."""
    debian = shutil.which("lmp", path="/usr/bin")
    return [debian] if bed.mpi.implementation == "openmpi" and debian else lammps_words(bed)


@dataclass(frozen=True)
class _Orders:
    """Ranks as the launcher puts them, and as the engine would, with what it predicts."""

    launched: RankOrder
    in_process: Path  # the same by the runtime
    by_launcher: RankOrder
    off_node: float  # shares of what the launched order has
    hop_bytes: float
    run: float


def folded(where: Place) -> RankOrder:
    """Ranks dealt to the hosts there and back: opposite corners of a grid of ranks share a host."""
    per_node = where.ranks // where.nodes
    slots = np.arange(where.ranks).reshape(where.nodes, per_node)
    dealt = [slots[:, i] if i % 2 == 0 else slots[::-1, i] for i in range(per_node)]
    hosts = tuple(host for host in where.hosts for _ in range(per_node))
    return RankOrder(tuple(np.concatenate(dealt).tolist()), hosts)


class LaunchedOrders:
    """One program under one library on the hosts."""

    def __init__(self, bed: Bed, where: Place, program: PlacedProgram, directory: Path) -> None:
        self._bed, self._where, self._directory = bed, where, directory
        self._program = program.words(bed)
        self._environment = {**bed.environment, **where.environment(bed)}
        self._runtime = native_part("libmpiric.so", bed.mpi.abi_families[0])

    def row(self, name: str, rounds: int, seed: int) -> Mapping[str, Any]:
        """Runs in the launched order, in the one found by the launcher, and in-process, interleaved."""
        orders = self._found()
        ways: dict[str, Callable[[], float]] = {
            "launched": lambda: self._seconds(orders.launched),
            "by launcher": lambda: self._seconds(orders.by_launcher),
            "in-process": lambda: self._seconds(orders.launched, MPIRIC_RANK_ORDER=orders.in_process),
        }
        drawn, times = Random(seed), list[dict[str, float]]()
        for _ in range(rounds):
            names = list(ways)
            drawn.shuffle(names)
            times.append({each: ways[each]() for each in names})
        return {
            "mpi": self._bed.mpi.label,
            "what": f"{name} on {self._where.name}, s",
            "as_it_is": f"{centre([each['launched'] for each in times]):.2f}",
            "ordered": ", ".join(_ratio(times, way) for way in ("by launcher", "in-process")),
            "predicted": f"×{orders.run:.2f} time at best, ×{orders.hop_bytes:.2f} hop-bytes, "
            f"×{orders.off_node:.2f} off-node",
        }

    def _found(self) -> _Orders:
        launched = folded(self._where)
        record = self._directory / "record"
        self._seconds(launched, MPIRIC_RECORD_DIR=record, MPIRIC_MERGE="tree")
        traffic = recorded_traffic(record)
        placed = record_on_machine(traffic, MachineSpec(costs=_COSTS, costs_source="the lab's own"))
        mapped = map_ranks(MapRequest(traffic.graph, placed.machine, placed.given), LocalHost())
        slots = keep_first(mapped.slots, int(placed.given[0]), placed.machine.tree.nodes)
        taken = np.argsort(placed.given)[slots]  # the rank whose place each rank takes
        path = self._directory / "order.txt"
        path.write_text(text_of(taken.tolist()))
        time_gain = mapped.time_gain or 0.0
        return _Orders(
            launched,
            path,
            RankOrder(tuple(launched.slots[rank] for rank in taken), launched.hosts),
            mapped.found.off_node / mapped.before.off_node,
            mapped.found.hop_bytes / mapped.before.hop_bytes,
            traffic.run.predicted_s(time_gain) / traffic.run.wall_s,
        )

    def _seconds(self, order: RankOrder, **settings: object) -> float:
        emission = rank_order_forms()[_FORMS[self._bed.mpi.implementation]](order)
        path = self._directory / "hosts"
        path.write_text(emission.text)
        options = shlex.split(" ".join(emission.options).replace("{file}", str(path)))
        line = [self._bed.mpi.launcher, *self._allocation(), *options, "-n", str(self._where.ranks)]
        given = {"LD_PRELOAD": self._runtime, **settings} if settings else {}
        words = ["env", *(f"{key}={value}" for key, value in given.items()), *self._program]
        begin = time.monotonic()
        self._where.execute([*line, *words], self._environment)
        return time.monotonic() - begin

    def _allocation(self) -> Sequence[str]:
        if self._bed.mpi.implementation != "openmpi":
            return ()
        per_node = self._where.ranks // self._where.nodes
        return ("--host", ",".join(f"{host}:{per_node}" for host in self._where.hosts))


def _ratio(times: Sequence[Mapping[str, float]], way: str) -> str:
    ratios = [each[way] / each["launched"] for each in times]
    low, high = median_interval(ratios, 0.05)
    interval = f" [{low:.2f}, {high:.2f}]" if isfinite(high) else ""
    return f"{way} ×{centre(ratios):.2f}{interval}"

"""Programs on hosts in an order that keeps neighbours apart: recorded, mapped, run in the order found."""

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
from tests.support.oversubscription import yielding_library

from benchmarks._mark_programs import lammps_words
from benchmarks._places import Place
from benchmarks._programs import Bed
from benchmarks._report import RESULTS
from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.native import native_part
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.mapping.machine_tree import with_fabric
from mpiric.model.mapping import MachineSpec
from mpiric.model.rank_order import RankOrder
from mpiric.statistics.confidence_sequence import centre, median_interval
from mpiric.workflows.mapping.machine import record_on_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.orders import text_of
from mpiric.workflows.mapping.plan_orders import keep_first
from mpiric.workflows.mapping.record import recorded_traffic

ROOT = Path(__file__).parents[1]
_FORMS = {"mpich": "hydra", "intelmpi": "intelmpi", "openmpi": "prrte"}


@dataclass(frozen=True)
class PlacedProgram:
    """Program, with a function that returns its command line under a library."""

    name: str
    argv: Callable[[Bed], list[str]]


def placed_programs(*, quick: bool) -> tuple[PlacedProgram, ...]:
    """Return the heat solver of the examples, and LAMMPS."""
    return (
        PlacedProgram("heat3d", lambda bed: [bed.program("heat3d"), "32", "50" if quick else "400"]),
        PlacedProgram("LAMMPS", lambda bed: [*_lammps(bed), "-log", "none", "-in", _melt(quick=quick)]),
    )


def _melt(*, quick: bool) -> str:
    """Return the path of the tests' input with more steps, which dominate the run."""
    text = (ROOT / "tests/system/programs/in.lj").read_text()
    path = RESULTS / "rank_order" / "in.lj"
    path.write_text(text if quick else text.replace("run 40", "run 300"))
    return str(path)


def _lammps(bed: Bed) -> list[str]:
    """Return the command of LAMMPS; Debian's is linked to Open MPI 4 and also runs under version 5."""
    debian = shutil.which("lmp", path="/usr/bin")
    return [debian] if bed.mpi.implementation == "openmpi" and debian else lammps_words(bed)


@dataclass(frozen=True)
class _Orders:
    """Rank order of the launcher and of the mapping engine, with the engine's predictions."""

    launched: RankOrder
    in_process: Path  # the same by the runtime
    by_launcher: RankOrder
    off_node: float  # bytes between nodes, relative to the launched order
    hop_bytes: float  # relative to the launched order
    run: float  # predicted time of the whole run, relative to the launched order


def folded(where: Place) -> RankOrder:
    """Deal ranks to the hosts forwards and backwards: opposite corners of a grid of ranks share a host."""
    per_node = where.ranks // where.nodes
    slots = np.arange(where.ranks).reshape(where.nodes, per_node)
    dealt = [slots[:, i] if i % 2 == 0 else slots[::-1, i] for i in range(per_node)]
    hosts = tuple(host for host in where.hosts for _ in range(per_node))
    return RankOrder(tuple(np.concatenate(dealt).tolist()), hosts)


class LaunchedOrders:
    """A program under a library on the hosts, in several rank orders."""

    def __init__(self, bed: Bed, where: Place, program: PlacedProgram, directory: Path) -> None:
        self._bed, self._where, self._directory = bed, where, directory
        self._argv = partial(program.argv, bed)
        self._yields = self._yielding()
        preloaded = {"LD_PRELOAD": self._yields} if self._yields else {}
        self._environment = {**bed.environment, **where.environment(bed), **preloaded}
        self._runtime = native_part("libmpiric.so", bed.mpi.abi_families[0])

    def rows(self, name: str, rounds: int, seed: int) -> list[dict[str, Any]]:
        """Return rows of interleaved runs: the launched order, and the new one by launcher and by runtime."""
        orders = self._new_order()
        ways: dict[str, Callable[[], float]] = {
            "launched": lambda: self._seconds(orders.launched),
            "by launcher": lambda: self._seconds(orders.by_launcher),
            "in-process": lambda: self._seconds(orders.launched, MPIRIC_RANK_ORDER=orders.in_process),
        }
        drawn, times = Random(seed), list[dict[str, float]]()
        for _ in range(rounds):
            names = list(ways)
            drawn.shuffle(names)
            times.append({way: ways[way]() for way in names})
        shares = (orders.run, "time at best"), (orders.hop_bytes, "hop-bytes"), (orders.off_node, "off-node")
        predicted = ", ".join(f"×{share:.2f} {what}" for share, what in shares)
        return [
            {
                "mpi": self._bed.mpi.label,
                "what": f"{name}, {way}, s",
                "as_it_is": f"{centre([seconds['launched'] for seconds in times]):.2f}",
                "ordered": f"{centre([seconds[way] for seconds in times]):.2f}",
                **_change([seconds[way] / seconds["launched"] for seconds in times]),
                "predicted": predicted,
            }
            for way in ("by launcher", "in-process")
        ]

    def tuned_rows(self, name: str, budget: str) -> list[dict[str, Any]]:
        """Return a row with the result of `mpiric tune --only rank-order`."""
        work = self._directory / "work"  # copied for each trial
        work.mkdir(exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "mpiric",
            "tune",
            "--json",
            "--only",
            "rank-order",
            "--budget",
            budget,
        ]
        command += ["--allow-rounding"]  # another order of ranks changes the order of sums
        command += ["--store", str(self._directory / "tunes"), "--", *self._line(folded(self._where))]
        output = self._where.execute([*command, *self._program], self._environment, cwd=work)
        tuned = json.loads(output)
        low, high = tuned["ratio_interval"]
        chosen = tuned["configuration"].get("rank-order", "no other order")
        without = [note for note in tuned["notes"] if note.startswith("the order without mpiric")]
        row = {
            "mpi": self._bed.mpi.label,
            "what": f"{name}, tune, s" + (" a step" if tuned["scope"] == "steps" else ""),
            "as_it_is": f"{tuned['original']['median_s']:.3g}",
            "ordered": f"{tuned['tuned']['median_s']:.3g}",
            "change": f"×{1 / tuned['ratio']:.2f}",
            "interval": f"[{1 / high:.2f}, {1 / low:.2f}]" if low and high else "",
            "predicted": f"{tuned['verdict']}: {chosen}, {tuned['runs']} runs"
            + (", launcher's file written" if without else ""),
        }
        return [row]

    @cached_property
    def _program(self) -> list[str]:
        return self._argv()

    def costs_rows(self) -> list[dict[str, Any]]:
        """Return rows with the costs that `mpiric fabric` measures; the predictions use them."""
        command = [sys.executable, "-m", "mpiric", "fabric", "--json", "--", *self._line(folded(self._where))]
        self._costs.write_text(self._where.execute([*command, *self._program], self._environment))
        costs = self._machine().costs
        return [
            {
                "mpi": self._bed.mpi.label,
                "what": f"a message, level {level}, as fabric measures it",
                "predicted": f"{cost.latency_us:.1f} µs, {cost.bandwidth_mb_s:.1f} MB/s",
            }
            for level, cost in costs.items()
        ]

    @property
    def _costs(self) -> Path:
        return self._directory.parent / f"{self._bed.mpi.label}-fabric.json"

    def _machine(self) -> MachineSpec:
        return with_fabric(MachineSpec(), self._costs.read_text(), str(self._costs))

    def _yielding(self) -> str:
        """Return the path, visible on the hosts, of the library by which waiting ranks of MPICH yield."""
        if self._bed.mpi.implementation != "mpich":
            return ""
        return str(shutil.copy(yielding_library(), str(self._directory)))

    def _new_order(self) -> _Orders:
        launched = folded(self._where)
        record = self._directory / "record"
        shutil.rmtree(record, ignore_errors=True)
        elapsed_s = self._seconds(launched, MPIRIC_RECORD_DIR=record, MPIRIC_MERGE="tree")
        traffic = recorded_traffic(record)
        placed = record_on_machine(traffic, self._machine())
        mapped = map_ranks(MapRequest(traffic.graph, placed.machine, placed.slots_before), LocalHost())
        slots = keep_first(mapped.slots, int(placed.slots_before[0]), placed.machine.tree.nodes)
        new_places = np.argsort(placed.slots_before)[slots]  # rank whose place each rank takes
        path = self._directory / "order.txt"
        path.write_text(text_of(new_places.tolist()))
        saved_s = traffic.run.wall_s - traffic.run.predicted_s(mapped.time_gain or 0.0)
        return _Orders(
            launched,
            path,
            RankOrder(tuple(launched.slots[rank] for rank in new_places), launched.hosts),
            mapped.after.off_node / mapped.before.off_node,
            mapped.after.hop_bytes / mapped.before.hop_bytes,
            1 - saved_s / elapsed_s,
        )

    def _seconds(self, order: RankOrder, **settings: object) -> float:
        preloaded = ":".join(filter(None, (str(self._runtime), self._yields)))
        variables = {"LD_PRELOAD": preloaded, **settings} if settings else {}
        command = ["env", *(f"{key}={value}" for key, value in variables.items()), *self._program]
        line = self._line(order)
        begin = time.monotonic()
        self._where.execute([*line, *command], self._environment)
        return time.monotonic() - begin

    def _line(self, order: RankOrder) -> list[str]:
        """Return the launch line with its host file, up to the program."""
        emission = rank_order_forms()[_FORMS[self._bed.mpi.implementation]](order)
        path = self._directory / f"hosts-{crc32(emission.text.encode()):08x}"
        path.write_text(emission.text)
        options = shlex.split(" ".join(emission.options).replace("{file}", str(path)))
        return [self._bed.mpi.launcher, *self._allocation(), *options, "-n", str(self._where.ranks)]

    def _allocation(self) -> Sequence[str]:
        if self._bed.mpi.implementation != "openmpi":
            return ()
        per_node = self._where.ranks // self._where.nodes
        return ("--host", ",".join(f"{host}:{per_node}" for host in self._where.hosts))


def _change(ratios: Sequence[float]) -> Mapping[str, str]:
    low, high = median_interval(ratios, 0.05)
    interval = f"[{low:.2f}, {high:.2f}]" if isfinite(high) else "too few rounds"
    return {"change": f"×{centre(ratios):.2f}", "interval": interval}

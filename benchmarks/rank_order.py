"""Overhead of another rank order per MPI call, and its gain compared with the prediction.

Calls are measured in one process, plain and with a rank order in turns. A time is the best of five passes;
the overhead is the median of the differences over the rounds, with a 95 % interval. The goal is 5 ns. Gains
are measured on four hosts of two slots (tests/lab), with ranks dealt to the hosts forwards and backwards,
which separates neighbours. Each round runs the program as launched, and with the order for its traffic set by
the launcher and in-process, in random order. The prediction gives the remaining fractions of the run time
(lower bound), of weighted hop-bytes and of bytes between nodes.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._launched_orders import LaunchedOrders, placed_programs
from benchmarks._places import place
from benchmarks._programs import Bed, beds
from benchmarks._report import RESULTS, Result, options, run, tell
from mpiric.statistics.confidence_sequence import centre, median_interval

ROOT = Path(__file__).parents[1]
GOAL_NS = 5.0
COLUMNS = {
    "mpi": "MPI",
    "what": "what",
    "as_it_is": "as it is",
    "ordered": "ordered",
    "change": "change",
    "interval": "95 %",
    "predicted": "predicted",
}


def _calls(bed: Bed, prefix: list[str]) -> dict[str, float]:
    """Return the nanoseconds of each kind of call."""
    program = bed.build(Path(__file__).parent / "_rank_order.c", "rank_order")
    done = subprocess.run(
        [bed.mpi.launcher, "-n", "1", *prefix, program],
        env=bed.environment, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


def measure_calls(bed: Bed, rounds: int, seed: int, directory: Path) -> list[dict[str, Any]]:
    """Measure the overhead of each kind of call; each round runs plain and ordered in random order."""
    order = directory / "one.txt"
    order.write_text("0\n")
    library = ROOT / "src/mpiric/_native" / bed.mpi.abi_families[0].value / "libmpiric.so"
    ways = {"plain": list[str](), "ordered": ["env", f"LD_PRELOAD={library}", f"MPIRIC_RANK_ORDER={order}"]}
    drawn, rounds_ns = Random(seed), list[dict[str, dict[str, float]]]()
    for _ in range(rounds):
        names = list(ways)
        drawn.shuffle(names)
        rounds_ns.append({name: _calls(bed, ways[name]) for name in names})
    rows = []
    for kind in rounds_ns[0]["plain"]:
        added = [times["ordered"][kind] - times["plain"][kind] for times in rounds_ns]
        low, high = median_interval(added, 0.05)
        rows.append(
            {
                "mpi": bed.mpi.label,
                "what": f"{kind}, ns",
                "as_it_is": f"{centre([times['plain'][kind] for times in rounds_ns]):.1f}",
                "ordered": f"{centre([times['ordered'][kind] for times in rounds_ns]):.1f}",
                "change": f"{centre(added):+.1f}",
                "interval": f"{low:+.1f} to {high:+.1f}" if isfinite(high) else "too few rounds",
                "predicted": f"at most {GOAL_NS:g} a call",
            }
        )
    return rows


def work(arguments: argparse.Namespace) -> Result:
    """Measure calls and programs under the selected libraries."""
    directory = RESULTS / "rank_order"
    if not arguments.resume:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    table = KeptRows("rank_order", arguments)

    def keep(part: str, measure: Callable[[], list[dict[str, Any]]]) -> None:
        if not arguments.only or any(word in part for word in arguments.only):
            table.add(part, measure)

    chosen: Mapping[str, Bed] = {name: bed for name, bed in beds().items() if name in arguments.mpi}
    rounds = 3 if arguments.quick else arguments.rounds
    for bed in chosen.values():
        if not arguments.no_calls:
            calls = partial(measure_calls, bed, rounds, arguments.seed, directory)
            keep(f"{bed.mpi.label}, calls", calls)
        if os.geteuid() != 0 or arguments.no_lab:
            continue
        with place("eth0", "eth0", 1 << 20, shares=(str(directory), str(RESULTS))) as where:
            for program in placed_programs(quick=arguments.quick):
                part = f"{bed.mpi.label}, {program.name}"
                program_directory = directory / part.replace(", ", "-")
                program_directory.mkdir(exist_ok=True)
                launched = LaunchedOrders(bed, where, program, program_directory)
                keep(f"{bed.mpi.label}, costs", launched.costs_rows)
                tell(f"{part} on four hosts …")
                keep(part, partial(launched.rows, program.name, rounds, arguments.seed))
                keep(f"{part}, tune", partial(launched.tuned_rows, program.name, arguments.budget))
    added = [float(row["change"]) for row in table.rows if row["what"].endswith(", ns")]
    return Result(
        COLUMNS,
        table.rows,
        f"An order adds {max(added, default=0.0):.1f} ns at most (goal: {GOAL_NS:g} a call).{table.remark}",
    )


def main() -> int:
    """Parse the options, measure, print and save the table."""
    parser = options("rank_order", __doc__)
    parser.add_argument(
        "--mpi",
        nargs="+",
        default=["mpich", "openmpi", "intelmpi"],
        help="measure only these implementations",
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-lab", action="store_true", help="measure only the calls")
    parser.add_argument("--only", nargs="+", default=[], help="only parts whose name contains one of these")
    parser.add_argument("--budget", default="100s", help="time budget of one tune (default 100s)")
    parser.add_argument("--no-calls", action="store_true", help="measure only the programs on four hosts")
    offer_parts(parser)
    return run("rank_order", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

"""Ranks in another order: what it adds to a call, and what it changes beside its prediction.

A call is measured in one process, plain and with an order in turn; a number is the best of five passes,
what is added the median of the differences over the rounds, with a 95 % interval. The goal is 5 ns. Orders
are measured on four hosts of two slots (tests/lab), where ranks dealt out there and back keep neighbours
apart: runs of a program that was launched so, with the order that its traffic asks for made by the launcher
and in-process, in random order in every round. Predicted is what is left of the run's time at best, of
weighted hop-bytes and of bytes between nodes.
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
from mpiric.tuning.proof.confidence_sequence import centre, median_interval

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


def _preload(bed: Bed, **settings: object) -> list[str]:
    """Words before a program that give its ranks the runtime."""
    library = ROOT / "src/mpiric/_native" / bed.mpi.abi_families[0].value / "libmpiric.so"
    return ["env", f"LD_PRELOAD={library}", *(f"{name}={value}" for name, value in settings.items())]


def _calls(bed: Bed, words: list[str]) -> dict[str, float]:
    """Nanoseconds of each kind of call."""
    program = bed.build(Path(__file__).parent / "_rank_order.c", "rank_order")
    done = subprocess.run(
        [bed.mpi.launcher, "-n", "1", *words, program],
        env=bed.environment, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


def measure_calls(bed: Bed, rounds: int, seed: int, directory: Path) -> list[dict[str, Any]]:
    """What an order adds to each kind of call, plain and ordered in random order in every round."""
    order = directory / "one.txt"
    order.write_text("0\n")
    ways = {"plain": list[str](), "ordered": _preload(bed, MPIRIC_RANK_ORDER=order)}
    drawn, found = Random(seed), list[dict[str, dict[str, float]]]()
    for _ in range(rounds):
        names = list(ways)
        drawn.shuffle(names)
        found.append({name: _calls(bed, ways[name]) for name in names})
    rows = []
    for kind in found[0]["plain"]:
        added = [each["ordered"][kind] - each["plain"][kind] for each in found]
        low, high = median_interval(added, 0.05)
        rows.append(
            {
                "mpi": bed.mpi.label,
                "what": f"{kind}, ns",
                "as_it_is": f"{centre([each['plain'][kind] for each in found]):.1f}",
                "ordered": f"{centre([each['ordered'][kind] for each in found]):.1f}",
                "change": f"{centre(added):+.1f}",
                "interval": f"{low:+.1f} to {high:+.1f}" if isfinite(high) else "too few rounds",
                "predicted": f"at most {GOAL_NS:g} a call",
            }
        )
    return rows


def work(given: argparse.Namespace) -> Result:
    """Measure both under every library that was named."""
    directory = RESULTS / "rank_order"
    if not given.resume:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    kept = KeptRows("rank_order", given)

    def keep(part: str, measure: Callable[[], list[dict[str, Any]]]) -> None:
        if not given.only or any(word in part for word in given.only):
            kept.add(part, measure)

    chosen: Mapping[str, Bed] = {name: bed for name, bed in beds().items() if name in given.mpi}
    rounds = 3 if given.quick else given.rounds
    for bed in chosen.values():
        if not given.no_calls:
            calls = partial(measure_calls, bed, rounds, given.seed, directory)
            keep(f"{bed.mpi.label}, calls", calls)
        if os.geteuid() != 0 or given.no_lab:
            continue
        with place("eth0", "eth0", 1 << 20, shares=(str(directory), str(RESULTS))) as where:
            for program in placed_programs(quick=given.quick):
                part = f"{bed.mpi.label}, {program.name}"
                own = directory / part.replace(", ", "-")
                own.mkdir(exist_ok=True)
                launched = LaunchedOrders(bed, where, program, own)
                keep(f"{bed.mpi.label}, costs", launched.costs_rows)
                tell(f"{part} on four hosts …")
                keep(part, partial(launched.rows, program.name, rounds, given.seed))
                keep(f"{part}, tune", partial(launched.tuned_rows, program.name, given.budget))
    added = [float(row["change"]) for row in kept.rows if row["what"].endswith(", ns")]
    return Result(
        COLUMNS,
        kept.rows,
        f"An order adds {max(added, default=0.0):.1f} ns at most (goal: {GOAL_NS:g} a call).{kept.remark}",
    )


def main() -> int:
    """Parse the options, measure, print."""
    parser = options("rank_order", __doc__)
    parser.add_argument("--mpi", nargs="+", default=["mpich", "openmpi", "intelmpi"], help="implementations")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-lab", action="store_true", help="calls alone")
    parser.add_argument("--only", nargs="+", default=[], help="parts with one of these in their name")
    parser.add_argument("--budget", default="100s", help="of a tune (default 100s)")
    parser.add_argument("--no-calls", action="store_true", help="programs on four hosts alone")
    offer_parts(parser)
    return run("rank_order", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

"""What translation between ABI families adds to one MPI call.

The same program is built for the library and for one of another family. Each round runs both under the
library, the second one through its stand-in, in random order; one process, by its CPU time. A number is the
best of thirty passes inside a run, what is added the difference within a round: its median over the rounds,
with a 95 % interval. The goals: 5 ns for a call that does nothing, 20 ns for a message, 10 ns for a
collective call.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._programs import Bed, beds
from benchmarks._report import Result, options, run, tell
from mpiric.host.installation.stand_ins import stand_ins, write_stand_in
from mpiric.model.errors import NotFoundError
from mpiric.model.translation import own_family
from mpiric.tuning.proof.confidence_sequence import centre, median_interval

PROGRAM = Path(__file__).parent / "_translate.c"
GOALS_NS = {"Irecv+Send+Wait": 20.0, "Allreduce(self)": 10.0}
GOAL_NS = 5.0
COLUMNS = {
    "mpi": "library",
    "program": "program of",
    "call": "call",
    "ns": "ns",
    "added_ns": "added ns",
    "added_interval_ns": "95 %",
    "goal_ns": "goal",
}


def build(bed: Bed, place: Path) -> Path:
    """The program for one library."""
    program = place / f"program-{bed.mpi.label}"
    words = [bed.mpi.compilers["c"], "-O2", str(PROGRAM), "-o", str(program)]
    subprocess.run(words, env=dict(bed.environment), check=True, capture_output=True)
    return program


def execute(bed: Bed, program: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Call → ns, of one run under a library."""
    words = [bed.mpi.launcher, "-n", "1", str(program)]
    done = subprocess.run(
        words, env={**bed.environment, **environment}, check=True, capture_output=True, text=True, timeout=300
    )
    return {name: float(ns) for name, ns in (line.split() for line in done.stdout.splitlines())}


def compare(bed: Bed, other: Bed, place: Path, rounds: int, random: Random) -> list[dict[str, Any]]:
    """A row for each call: a program of ``other``'s family under the library of ``bed``."""
    family = own_family(other.mpi)
    assert family is not None
    stand_in = write_stand_in(place / f"{family.value}-by-{bed.mpi.label}", family, bed.mpi)
    own, foreign = build(bed, place), build(other, place)
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(rounds):
        sides: dict[bool, dict[str, float]] = {}
        for is_translated in random.sample([False, True], 2):
            preload = {"LD_PRELOAD": stand_in} if is_translated else {}
            sides[is_translated] = execute(bed, foreign if is_translated else own, preload)
        for call, ns in sides[False].items():
            times[call].append((ns, sides[True][call]))
    return [_row(bed, other, call, pairs) for call, pairs in times.items()]


def _row(bed: Bed, other: Bed, call: str, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    added = [translated - plain for plain, translated in pairs]
    return {
        "mpi": bed.mpi.label,
        "program": other.mpi.label,
        "call": call,
        "ns": centre([plain for plain, _ in pairs]),
        "added_ns": centre(added),
        "added_interval_ns": median_interval(added, 0.05),
        "goal_ns": GOALS_NS.get(call, GOAL_NS),
    }


def work(given: argparse.Namespace) -> Result:
    """Every library here under a program of another family."""
    random, rows = Random(given.seed), []
    found = beds()
    with tempfile.TemporaryDirectory(prefix="mpiric-translate-") as place:
        for bed in found.values():
            others = [o for o in found.values() if (own_family(o.mpi), own_family(bed.mpi)) in stand_ins()]
            for other in others[:1]:
                tell(f"{other.mpi.label} under {bed.mpi.label}")
                rows += compare(bed, other, Path(place), 3 if given.quick else given.rounds, random)
    if not rows:
        raise NotFoundError("no libraries of two ABI families are here", hint="mpiric mpi install")
    over = [f"{row['mpi']} {row['call']}" for row in rows if row["added_ns"] > row["goal_ns"]]
    return Result(COLUMNS, rows, f"Over the goal: {', '.join(over) or 'none'}.")


def main() -> int:
    """Command line."""
    parser = options("translate", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of runs")
    return run("translate", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

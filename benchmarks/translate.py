"""Overhead of translation between ABI families per MPI call, and of the start of a process.

The same program is built for the library and for other families. Each round runs all builds under the
library, the foreign ones through shims, in random order; one process, CPU time. A time is the best of thirty
passes inside a run; the overhead is the difference within a round: its median over the rounds, with a 95 %
interval. Callgrind counts instructions, which do not depend on the load of the machine. The goals: 5 ns for a
call that does nothing, 20 ns for a message, 10 ns for a collective call, 3 ms for the start. Translations of
other projects are also measured if they are built: Mukautuva, and mpi_abi_wrapper for each library.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from shutil import which
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, beds
from benchmarks._report import Result, offer_named, options, run, tell
from benchmarks._translate_sides import Side, c_name, sides_of
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import own_family
from mpiric.statistics.confidence_sequence import centre, median_interval

GOALS = {"Irecv+Send+Wait": 20.0, "Allreduce(self)": 10.0, "load, ms": 3.0}
GOAL_NS = 5.0
LOAD = "load, ms"
COLUMNS = {
    "mpi": "library",
    "side": "program",
    "call": "call",
    "ns": "ns as it is",
    "added_ns": "added ns",
    "added_interval_ns": "95 %",
    "goal_ns": "goal",
    "added_instructions": "added instructions",
}


class Counts:
    """Instructions of each side's calls, each counted once."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._known: dict[str, dict[str, float]] = {}

    def of(self, side: Side) -> dict[str, float]:
        """Nothing without valgrind."""
        name = f"{side.bed.mpi.label} {side.name}"
        if name not in self._known:
            self._known[name] = side.instructions(self._place) if which("valgrind") else {}
        return self._known[name]


def compare(side: Side, against: Side, rounds: int, random: Random, counts: Counts) -> list[dict[str, Any]]:
    """Return a row for each call of a side."""
    times: dict[str, list[dict[str, float]]] = defaultdict(list)
    both_start = side.has_opened_library() and against.has_opened_library()
    for _ in range(rounds):
        for timed in random.sample([side, against], 2):
            times[timed.name].append({**timed.times_ns(), **({LOAD: timed.load_ms()} if both_start else {})})
    rows = []
    for call in times[side.name][0]:
        pairs = [
            (plain[call], translated[call])
            for plain, translated in zip(times[against.name], times[side.name], strict=True)
        ]
        more = [counts.of(counted).get(c_name(call)) for counted in (against, side)]
        rows.append(_row(side.bed.mpi.label, side.name, call, pairs, more))
    return rows


def later_starts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the sides without a row of the start."""
    started = {(row["mpi"], row["side"]) for row in rows if row["call"] == LOAD}
    later = sorted({str(row["side"]) for row in rows if (row["mpi"], row["side"]) not in started})
    return f" No start is compared where the library is opened in MPI_Init alone: {'; '.join(later)}." * bool(
        later
    )


def _row(
    mpi: str, side: str, call: str, pairs: list[tuple[float, float]], instructions: Sequence[float | None]
) -> dict[str, Any]:
    added = [translated - plain for plain, translated in pairs]
    before, after = instructions
    return {
        "mpi": mpi,
        "side": side,
        "call": call,
        "ns": centre([plain for plain, _ in pairs]),
        "added_ns": centre(added),
        "added_interval_ns": median_interval(added, 0.05),
        "goal_ns": GOALS.get(call, GOAL_NS),
        "added_instructions": None if before is None or after is None else round(after - before, 1),
    }


def work(arguments: argparse.Namespace) -> Result:
    """Measure every installed library under programs of other families."""
    table, random, available = KeptRows("translate", arguments), Random(arguments.seed), beds()
    foreign: dict[AbiFamily, Bed] = {}
    for bed in reversed(available.values()):
        if (family := own_family(bed.mpi)) and (
            bed.mpi.implementation != "intelmpi" or family not in foreign
        ):
            foreign[family] = bed
        if Path(bed.mpi.compilers["c"] + "_abi").is_file():
            foreign[AbiFamily.STANDARD] = bed
    peers = {"Mukautuva": arguments.mukautuva} if arguments.mukautuva else {}
    peers |= {f"mpi_abi_wrapper over {label}": Path(path) for label, path in arguments.mpi_abi_wrapper}
    with tempfile.TemporaryDirectory(prefix="mpiric-translate-") as place:
        counts = Counts(Path(place))
        for bed in available.values():
            if arguments.mpi and bed.mpi.implementation not in arguments.mpi:
                continue
            sides = {side.name: side for side in sides_of(bed, foreign, peers, Path(place))}
            for side in sides.values():
                if side.against:
                    tell(f"{side.name} under {bed.mpi.label}")
                    against, rounds = sides[side.against], 3 if arguments.quick else arguments.rounds
                    measure = partial(compare, side, against, rounds, random, counts)
                    table.add(f"{bed.mpi.label}, {side.name}", measure)
    rows = table.rows
    if not rows:
        raise NotFoundError("libraries of two ABI families are required", hint="mpiric mpi install")
    shim_rows = [row for row in rows if row["side"].startswith("stand-in")]
    over = [
        f"{row['mpi']}, {row['side']}: {row['call']}" for row in shim_rows if row["added_ns"] > row["goal_ns"]
    ]
    summary = f"Over the goal: {'; '.join(over) or 'none'}.{later_starts(rows)}{table.remark}"
    return Result(COLUMNS, rows, summary)


def main() -> int:
    """Command line."""
    parser = options("translate", __doc__ or "")
    parser.add_argument("--rounds", type=int, default=9, help="rounds, of a run of each")
    offer_parts(parser)
    parser.add_argument("--mpi", action="append", help="only under these implementations")
    parser.add_argument("--mukautuva", type=Path, help="directory in which Mukautuva is built")
    built = "where mpi_abi_wrapper is installed that was built for a library"
    offer_named(parser, "--mpi-abi-wrapper", "LABEL=PREFIX", built)
    return run("translate", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())

# ruff: noqa: A005 - called as what it measures; nobody imports it by a bare name
"""Compare the answer of `mpiric tune --only io` with the best layout and hints: IOR and mdtest on Lustre.

Four sides run in turns, with one rank on each of four virtual hosts: the unchanged command on the default of
one stripe, the answer of tune, the rule of t3pio (McLay et al., XSEDE12), and a grid that an expert would
sweep with `lfs` and the options of the library. They are compared by the rates that IOR (with fsync) and
mdtest print; tune minimises the time of whole runs until all bytes are on the servers. `tests/lab/fs` lists
the limits of the virtual file system.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks._io_lab import MIB, TARGETS, Lab, Setup, in_turns, mounted
from benchmarks._ior import PATTERNS, Pattern, built
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, beds, changes_of, chosen, offer_choice, results_directory
from benchmarks._report import Result, options, run, tell
from mpiric.model.errors import MpiricError

_LIBRARIES = ("mpich", "openmpi", "intelmpi")
_NATIVE = {"I_MPI_FILESYSTEM": "1"}  # the driver for Lustre instead of the one for NFS
_TWO = {"cb_nodes": "2", "cb_config_list": "*:2"}
# Hints and variables of each library: how many aggregators, whether there are any, and which driver.
_WAYS: Mapping[str, Sequence[tuple[Mapping[str, str], Mapping[str, str]]]] = {
    "mpich": (({}, {}), ({"romio_cb_write": "enable"}, {}), ({"romio_cb_write": "disable"}, {}), (_TWO, {})),
    "openmpi": (({}, {}), *(({"num_aggregators": count}, {}) for count in "124")),
    "intelmpi": (({}, {}), ({}, _NATIVE), ({"romio_cb_write": "disable"}, _NATIVE), (_TWO, _NATIVE)),
}


@dataclass(frozen=True)
class Case:
    """A pattern under a library."""

    pattern: Pattern
    mpi: str

    @property
    def name(self) -> str:
        """Return the name that `--only` matches."""
        return self.pattern.name


CASES = tuple(Case(pattern, mpi) for pattern in PATTERNS for mpi in _LIBRARIES)


def grid(case: Case, *, quick: bool) -> Iterator[Setup]:
    """Yield every point that an expert would sweep."""
    ways = _WAYS[case.mpi] if case.pattern.through_mpi else _WAYS[case.mpi][:1]
    for stripes in (1, 4, 8) if quick else (1, 2, 4, 8):
        for size in (1,) if quick else (1, 4):
            for hints, variables in ways[:2] if quick else ways:
                settings = ",".join(f"{key}={value}" for key, value in {**hints, **variables}.items())
                yield Setup(f"{stripes}x{size}MiB {settings}".strip(), stripes, size * MIB, hints, variables)


def is_measured(case: Case, point: Setup) -> bool:
    """Return whether a point is measured: not if few targets limit it, whatever the hints."""
    return not case.pattern.shared or point.stripes == TARGETS or not (point.hints or point.environment)


def t3pio(case: Case, hosts: int) -> Setup:
    """Return the point of t3pio: stripes are a multiple of the nodes, writers as many, at most the ranks."""
    if not case.pattern.shared:
        return Setup("t3pio", 1)
    writers = str(min(TARGETS, hosts))
    named = {"openmpi": {"num_aggregators": writers}}.get(
        case.mpi, {"cb_nodes": writers, "cb_config_list": "*:1"}
    )
    return Setup("t3pio", TARGETS // hosts * hosts, MIB, named if case.pattern.through_mpi else {})


def _line(case: Case, bed: Bed, arguments: Namespace, lab: Lab) -> tuple[str, ...]:
    program = built(case.pattern.program, bed, arguments.sources)
    return lab.launch(bed, program, case.pattern.words(arguments.mebibytes))


def measured(
    case: Case, bed: Bed, arguments: Namespace, lab: Lab, tuned: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure one row: the answer of tune and the other sides."""
    line = _line(case, bed, arguments, lab)
    command = tuned["command"] or {"argv": list(line), "env": {}}
    prepare = tuple(tuple(argv) for argv in tuned["prepare"])
    answer = Setup("tuned", environment=command["env"], prepare=prepare, argv=tuple(command["argv"]))
    every = list(grid(case, quick=arguments.quick))
    points = [point for point in every if is_measured(case, point)]
    sides = [Setup("untouched"), answer, t3pio(case, len(lab.hosts))]
    run_one = partial(lab.run, bed, case.pattern, line)
    rates = in_turns(run_one, sides, points, arguments.rounds, arguments.seed)
    typical = {name: median(side_rates) for name, side_rates in rates.items()}
    best = max(typical[point.name] for point in points if len(rates[point.name]) == arguments.rounds)
    one_stripe = typical["untouched"]
    return {
        "mpi": bed.mpi.label,
        "pattern": case.name,
        "untouched": round(one_stripe, 2),
        "tuned": round(typical["tuned"] / one_stripe, 2),
        "t3pio": round(typical["t3pio"] / one_stripe, 2),
        "best": round(best / one_stripe, 2),
        "to_best": round(typical["tuned"] / best, 2),
        "search_runs": tuned["search_runs"],
        "runs": tuned["runs"],
        "grid_runs": len(every) * arguments.rounds,
        "answer": changes_of(tuned),
        "verdict": tuned["verdict"],
        "ratio": tuned["ratio"],
        "interval": tuned["ratio_interval"],
        "shared": case.pattern.shared,
        "wrong": sorted(name for name, side_rates in rates.items() if 0.0 in side_rates),
        "rates": rates,
    }


_COLUMNS = {
    "mpi": "MPI",
    "pattern": "pattern",
    "untouched": "one stripe, MiB/s or files/s",
    "tuned": "tuned: times",
    "t3pio": "t3pio: times",
    "best": "grid's best: times",
    "to_best": "tuned ÷ best",
    "search_runs": "runs of the search",
    "runs": "with the proof",
    "grid_runs": "runs of the grid",
    "answer": "changes by tune",
}


def _answer(case: Case, bed: Bed, arguments: Namespace) -> list[dict[str, Any]]:
    """Return the result of tune for a case."""
    kept_in = results_directory("io", case.name, bed)
    with mounted(arguments.hosts, arguments.bandwidth) as lab:
        return [lab.tune(bed, _line(case, bed, arguments, lab), arguments.budget, kept_in)]


def _row(case: Case, bed: Bed, arguments: Namespace, tuned: Mapping[str, Any]) -> list[dict[str, Any]]:
    with mounted(arguments.hosts, arguments.bandwidth) as lab:
        return [measured(case, bed, arguments, lab, tuned)]


def work(arguments: Namespace) -> Result:
    """Measure all cases, each on its own file system in two parts: the answer, and its comparison."""
    available = beds()
    table = KeptRows("io", arguments)
    for case in chosen(CASES, available, arguments):
        bed, part = available[case.mpi], f"{case.mpi}: {case.name}"
        tell(part)
        table.add(f"{part}, tune", partial(_answer, case, bed, arguments))
        for tuned in table.of(f"{part}, tune"):
            table.add(part, partial(_row, case, bed, arguments, tuned))
    rows = [row for row in table.rows if "to_best" in row]
    if not rows:
        raise MpiricError(
            f"no case is measured.{table.remark}", hint="--resume continues with the saved parts"
        )
    gain = geometric_mean([row["tuned"] for row in rows])
    shared = [row["tuned"] for row in rows if row["shared"]]
    of_shared = f", {geometric_mean(shared):.2f}x where ranks share a file" if shared else ""
    near = sum(row["to_best"] >= 0.95 for row in rows)
    slower = sum(row["tuned"] < 0.95 for row in rows)
    share = sum(row["search_runs"] for row in rows) / sum(row["grid_runs"] for row in rows)
    summary = (
        f"tuned {gain:.2f}x over one stripe (geometric mean){of_shared}; within 5 % of the grid's best: "
        f"{near} of {len(rows)}, slower than one stripe: {slower}; runs of the searches: {share:.0%} of the "
        "grids'. Of one file of all ranks, points on some targets are measured without hints only: the model "
        f"leaves no doubt of the others. Settings with which a file was wrong, and which do not count: "
        f"{sum(len(row.get('wrong', ())) for row in rows)}.{table.remark}"
    )
    return Result(_COLUMNS, rows, summary, {"cpus": os.cpu_count()})


def main() -> int:
    """Parse the options, measure, print and save the table."""
    parser = options("io", __doc__.splitlines()[0])
    offer_choice(parser)
    offer_parts(parser)
    parser.add_argument("--sources", type=Path, help="directory with a checkout of ior")
    parser.add_argument("--rounds", type=int, default=0, help="runs of each point (default 3, quick 2)")
    parser.add_argument("--hosts", type=int, default=4, help="number of hosts, with one rank on each")
    parser.add_argument("--mebibytes", type=int, default=4, help="MiB that each rank writes")
    parser.add_argument("--bandwidth", type=float, default=5, help="MB/s of a target; slower than two cores")
    parser.add_argument("--budget", default="5m", help="time budget of one tune")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 3)
    return run("io", arguments, work)


if __name__ == "__main__":
    sys.exit(main())

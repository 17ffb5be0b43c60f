# ruff: noqa: A005 - called as what it measures; nobody imports it by a bare name
"""Whether `mpiric tune --only io` finds the best layout and hints: IOR and mdtest, on a lab's Lustre.

Four sides in turns, a rank on each of four virtual hosts: the command as it is on the default of one stripe,
what tune answers, the rule of t3pio (McLay et al., XSEDE12), and a grid that an expert would sweep, spelled
in the words of `lfs` and of the library. All are compared by what IOR (with fsync) and mdtest say of
themselves; tune minimises the time of whole runs until all bytes are on the servers. What the lab's file
system cannot prove is said in `tests/lab/fs`.
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
_NATIVE = {"I_MPI_FILESYSTEM": "1"}  # the driver for Lustre, in place of the one for NFS
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
        """The name that `--only` matches."""
        return self.pattern.name


CASES = tuple(Case(pattern, mpi) for pattern in PATTERNS for mpi in _LIBRARIES)


def grid(case: Case, *, quick: bool) -> Iterator[Setup]:
    """Every point that an expert would sweep."""
    ways = _WAYS[case.mpi] if case.pattern.through_mpi else _WAYS[case.mpi][:1]
    for stripes in (1, 4, 8) if quick else (1, 2, 4, 8):
        for size in (1,) if quick else (1, 4):
            for hints, variables in ways[:2] if quick else ways:
                words = ",".join(f"{key}={value}" for key, value in {**hints, **variables}.items())
                yield Setup(f"{stripes}x{size}MiB {words}".strip(), stripes, size * MIB, hints, variables)


def is_measured(case: Case, point: Setup) -> bool:
    """Whether the model leaves open where a point stands: not where few targets bind, whatever the hints."""
    return not case.pattern.shared or point.stripes == TARGETS or not (point.hints or point.environment)


def t3pio(case: Case, hosts: int) -> Setup:
    """Stripes: the largest multiple of the nodes; as many writers as stripes, at most the ranks."""
    if not case.pattern.shared:
        return Setup("t3pio", 1)
    writers = str(min(TARGETS, hosts))
    named = {"openmpi": {"num_aggregators": writers}}.get(
        case.mpi, {"cb_nodes": writers, "cb_config_list": "*:1"}
    )
    return Setup("t3pio", TARGETS // hosts * hosts, MIB, named if case.pattern.through_mpi else {})


def _line(case: Case, bed: Bed, given: Namespace, lab: Lab) -> tuple[str, ...]:
    program = built(case.pattern.program, bed, given.sources)
    return lab.launch(bed, program, case.pattern.words(given.mebibytes))


def measured(case: Case, bed: Bed, given: Namespace, lab: Lab, tuned: Mapping[str, Any]) -> dict[str, Any]:
    """One row, of an answer of tune's and the others."""
    line = _line(case, bed, given, lab)
    command = tuned["command"] or {"argv": list(line), "env": {}}
    prepare = tuple(tuple(words) for words in tuned["prepare"])
    answer = Setup("tuned", environment=command["env"], prepare=prepare, argv=tuple(command["argv"]))
    every = list(grid(case, quick=given.quick))
    points = [point for point in every if is_measured(case, point)]
    sides = [Setup("untouched"), answer, t3pio(case, len(lab.hosts))]
    run_one = partial(lab.run, bed, case.pattern, line)
    rates = in_turns(run_one, sides, points, given.rounds, given.seed)
    typical = {name: median(each) for name, each in rates.items()}
    best = max(typical[point.name] for point in points if len(rates[point.name]) == given.rounds)
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
        "grid_runs": len(every) * given.rounds,
        "answer": changes_of(tuned),
        "verdict": tuned["verdict"],
        "ratio": tuned["ratio"],
        "interval": tuned["ratio_interval"],
        "shared": case.pattern.shared,
        "wrong": sorted(name for name, each in rates.items() if 0.0 in each),
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
    "answer": "what tune changed",
}


def _answer(case: Case, bed: Bed, given: Namespace) -> list[dict[str, Any]]:
    """What tune prints of a case."""
    kept_in = results_directory("io", case.name, bed)
    with mounted(given.hosts, given.bandwidth) as lab:
        return [lab.tune(bed, _line(case, bed, given, lab), given.budget, kept_in)]


def _row(case: Case, bed: Bed, given: Namespace, tuned: Mapping[str, Any]) -> list[dict[str, Any]]:
    with mounted(given.hosts, given.bandwidth) as lab:
        return [measured(case, bed, given, lab, tuned)]


def work(given: Namespace) -> Result:
    """All cases, each in two parts, the answer and the table, on a file system of its own."""
    available = beds()
    kept = KeptRows("io", given)
    for case in chosen(CASES, available, given):
        bed, part = available[case.mpi], f"{case.mpi}: {case.name}"
        tell(part)
        kept.add(f"{part}, tune", partial(_answer, case, bed, given))
        for tuned in kept.of(f"{part}, tune"):
            kept.add(part, partial(_row, case, bed, given, tuned))
    rows = [row for row in kept.rows if "to_best" in row]
    if not rows:
        raise MpiricError(f"no case is measured.{kept.remark}", hint="--resume goes on with what is there")
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
        f"{sum(len(row.get('wrong', ())) for row in rows)}.{kept.remark}"
    )
    return Result(_COLUMNS, rows, summary, {"cpus": os.cpu_count()})


def main() -> int:
    """Entry point."""
    parser = options("io", __doc__.splitlines()[0])
    offer_choice(parser)
    offer_parts(parser)
    parser.add_argument("--sources", type=Path, help="directory with a checkout of ior")
    parser.add_argument("--rounds", type=int, default=0, help="of each point; 2 with --quick, else 3")
    parser.add_argument("--hosts", type=int, default=4, help="a rank on each")
    parser.add_argument("--mebibytes", type=int, default=4, help="that a rank writes")
    parser.add_argument(
        "--bandwidth", type=float, default=5, help="of a target, in MB/s: slower than two cores"
    )
    parser.add_argument("--budget", default="5m", help="of a tune")
    given = parser.parse_args()
    given.rounds = given.rounds or (2 if given.quick else 3)
    return run("io", given, work)


if __name__ == "__main__":
    sys.exit(main())

"""Compare the gain of exports that are used by hand with the gain that mpiric claims for them.

Each case lets mpiric write something: the command of a recipe, a pack, a site's files, the modulefile of a
shim, the line and files of a placement, the launcher's file of a map, the tuning files of a sweep, a job
script. The original command and the export then run in turns, the latter in a shell without mpiric. Programs
print their own times, so that the start of mpiric or of a pack does not count.
"""

import json
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from benchmarks._exports_cases import (
    CASES,
    CLOSE,
    LIMIT_S,
    NothingWrittenError,
    Place,
    compare_rounds,
    of_sides,
)
from benchmarks._exports_lab import CASES_OF_LAB
from benchmarks._programs import Bed, beds, chosen, offer_choice, results_directory
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import Ratio
from mpiric.host.installation.native import native_part
from mpiric.model.errors import ProgramFailedError

_SWEPT = ("--collectives", "bcast,allreduce,allgather", "--sizes", "8,1K,64K", "--ranks", "2")
TUNING_FILES = "sweep's files"


@dataclass(frozen=True)
class Case:
    """A kind of export under one library."""

    name: str
    mpi: str


COLUMNS = {
    "case": "written",
    "mpi": "MPI",
    "claim": "claim",
    "by_hand": "by hand",
    "by_hand_ci95": "95 %",
    "quotient": "by hand ÷ claim",
    "quotient_ci95": "95 %",
    "kept": "kept",
    "line": "without mpiric",
}


def main() -> int:
    """Run the cases that this machine has the libraries for."""
    parser = options("exports", "Does what mpiric writes gain without mpiric what it claims?")
    parser.add_argument("--budget", help="of one tune or sweep (default 1m, quick 30s)")
    parser.add_argument("--rounds", type=int, help="of original and written, at first (default 9, quick 3)")
    offer_choice(parser)
    return run("exports", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Run all cases: write the export, then run the original and the export alternately."""
    available = beds()
    names = (*CASES, TUNING_FILES, *CASES_OF_LAB)
    every = [Case(name, mpi) for mpi in ("mpich", "openmpi", "intelmpi") for name in names]
    if arguments.quick and not arguments.mpi:
        every = [case for case in every if case.mpi == "mpich"]
    tunes: dict[str, dict[str, dict[str, Any]]] = {mpi: {} for mpi in available}
    rows = [
        _row(case, available[case.mpi], arguments, tunes[case.mpi])
        for case in chosen(every, available, arguments)
    ]
    return Result(COLUMNS, rows, summary_of(rows))


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence with the number of claims that hold by hand."""
    counts = Counter(row["kept"] for row in rows)
    measured = counts["yes"] + counts["no"] + counts["undecided"]
    nothing = f"; {counts['']} wrote nothing" if counts[""] else ""
    return (
        f"{counts['yes']} of {measured} gain by hand what was claimed within {CLOSE:.0%}, {counts['no']} do "
        f"not, and the spread of {counts['undecided']} allows both{nothing}."
    )


def _row(case: Case, bed: Bed, arguments: Namespace, tunes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    tell(f"{case.name} under {bed.mpi.label} …")
    directory = results_directory("exports", case.name.replace("'", ""), bed)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    place = Place(bed, directory, arguments, tunes)
    row: dict[str, Any] = {"case": case.name, "mpi": bed.mpi.label, "kept": ""}
    try:
        if case.name in CASES:
            measured = of_sides(CASES[case.name](place), place)
        else:
            measured = {TUNING_FILES: _of_tuning_files, **CASES_OF_LAB}[case.name](place)
    except (NothingWrittenError, ProgramFailedError, subprocess.TimeoutExpired) as error:
        none = dict.fromkeys(("claim", "by_hand", "by_hand_ci95", "quotient", "quotient_ci95"))
        # A failure by hand breaks the claim.
        broken = "" if isinstance(error, NothingWrittenError) else "no"
        return {**row, **none, "kept": broken, "line": str(error)[-300:]}
    return {**row, **measured}


def _of_tuning_files(place: Place) -> dict[str, Any]:
    """Measure the files that `mpiric sweep` exports by the times of the collectives, one launch per turn."""
    out, bed = place.directory / "swept", place.bed
    options = ("--no-own", "--budget", place.budget, "--json", "-o", str(out))
    swept = json.loads(place.mpiric("sweep", *_SWEPT, *options, "--", bed.mpi.launcher, "-n", "2"))
    shell = out / "collectives.sh"
    if not shell.is_file():
        raise NothingWrittenError("the sweep chose nothing but the library's own")
    probe = native_part("probe-collectives", bed.mpi.abi_families[0])
    chosen_keys = {key["collective"] for key in swept["keys"] if key["candidate"] != "library"}
    points = [f"{name}:2:2:{size}" for name in sorted(chosen_keys) for size in (8, 1024, 65536)]
    line = f". {shlex.quote(str(shell))}; {shlex.join([bed.mpi.launcher, '-n', '2', probe, '0.05', *points])}"
    sides = {"original": line.partition("; ")[2], "by hand": line}

    def one_round(turn: int) -> dict[str, float]:
        order = list(sides) if turn % 2 else list(reversed(sides))
        times = {name: _probed(sides[name], bed.environment) for name in order}
        common = times["original"].keys() & times["by hand"].keys()
        return {name: geometric_mean(times[name][key] for key in common) for name in sides}

    gain = swept["exported"]["gain"]
    return {**compare_rounds(one_round, place.rounds, Ratio(gain, gain, gain)), "line": line}


def _probed(line: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Collective and size → median time of a call."""
    done = subprocess.run(
        ["sh", "-c", line], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    if done.returncode or not rows:
        raise ProgramFailedError(f"{line[:80]} …: {done.stderr.strip()[-200:]}")
    return {f"{row['collective']} {row['bytes']}": row["median_s"] for row in rows}


if __name__ == "__main__":
    sys.exit(main())

"""Cost and result of a tune of long programs.

Each case is `mpiric tune` with a budget on the command of a user. Two short runs of different length give the
time of a whole run. The time of the tune is compared with its budget, with one whole run, and with as many
whole runs as the tune made runs. Only the start-up of melt has a gain.
"""

import json
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._programs import Bed, changes_of, releases
from benchmarks._report import Result, options, run, tell
from mpiric.model.amount import parse_duration
from mpiric.model.errors import MpiricError, NotFoundError

_OVER, _TIMES_FEWER, _LONG_S = 1.1, 20.0, 60.0
_Line = tuple[list[str], dict[str, str]]  # argv, inputs


@dataclass(frozen=True)
class Case:
    """A program with its number of steps, the budget of its tune, and two numbers of steps for short runs."""

    name: str
    program: str
    library: str
    budget: str
    steps: int
    probes: tuple[int, int]
    of_steps: Callable[[_Line, int], _Line]  # the command with another number of steps


def _lammps(line: _Line, steps: int) -> _Line:
    argv, inputs = line
    return argv, {name: text.replace("run\t\t2000", f"run\t\t{steps}") for name, text in inputs.items()}


def _lammps_over_tcp(line: _Line, steps: int) -> _Line:
    """Return a launch of 256 atoms, dominated by messages, with the settings of another cluster's script."""
    (launcher, *command), inputs = _lammps(line, steps)
    small = {name: text.replace("0 10 0 10 0 10", "0 4 0 4 0 4") for name, text in inputs.items()}
    return [launcher, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", *command], small


def _lulesh(line: _Line, steps: int) -> _Line:
    argv, inputs = line
    return [*argv[: argv.index("-s")], "-s", "20", "-i", str(steps)], inputs


CASES = (
    Case("melt", "LAMMPS melt", "openmpi-4", "1m", 250, (250, 500), _lammps),
    Case("46 seconds", "LAMMPS melt", "openmpi-4", "30s", 45_000, (500, 3000), _lammps),
    Case("LAMMPS, an hour", "LAMMPS melt", "openmpi-4", "4m", 3_600_000, (500, 3000), _lammps),
    Case(
        "256 atoms over TCP, an hour",
        "LAMMPS melt",
        "openmpi-4",
        "4m",
        45_000_000,
        (2000, 20_000),
        _lammps_over_tcp,
    ),
    Case("LULESH, 13 minutes", "LULESH", "openmpi-4", "4m", 20_000, (10, 40), _lulesh),
    Case("LULESH, an hour", "LULESH", "openmpi-4", "4m", 110_000, (10, 40), _lulesh),
)

COLUMNS = {
    "case": "case",
    "library": "library",
    "whole_s": "a whole run s",
    "budget_s": "budget s",
    "took_s": "took s",
    "runs": "runs",
    "of_a_run": "of a whole run",
    "fewer": "core-hours, times fewer than as whole runs",
    "scope": "looked at",
    "verdict": "verdict",
    "ratio": "ratio",
    "interval": "interval",
    "start_s": "start-up s",
    "step_s": "a step s",
    "start": "gain of the start-up, 95 %",
    "main": "of the steps",
    "changes": "changes",
    "right": "as it should be",
}


def main() -> int:
    """Tune each program, print and save the table."""
    parser = options("long_programs", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only cases whose name contains this")
    offer_parts(parser)
    offer_sources(parser)
    return run("long_programs", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure one row per case."""
    table = KeptRows("long_programs", arguments)
    name_parts = arguments.only or (["46 seconds"] if arguments.quick else [""])
    for case in CASES:
        if any(word in case.name for word in name_parts):
            table.add(case.name, partial(_rows, case, arguments.sources))
    right = sum(bool(row["right"]) for row in table.rows)
    return Result(
        COLUMNS,
        table.rows,
        f"{right} of {len(table.rows)} tunes ended within their budget and 10 %, with an answer, and cost "
        f"{_TIMES_FEWER:.0f} times fewer core-hours than whole runs where one takes a minute or more."
        f"{table.remark}",
    )


def _rows(case: Case, sources: Path | None) -> Iterator[dict[str, Any]]:
    matches = releases([case.library])
    if not matches:
        raise NotFoundError(f"{case.library} is not installed")
    (bed,) = matches.values()
    (program,) = [program for program in programs(sources) if program.name == case.program]
    row = {"case": case.name, "library": bed.mpi.label, **_row(case, program, bed)}
    tell(str(row))
    yield row


def _row(case: Case, program: MarkProgram, bed: Bed) -> dict[str, Any]:
    line = program.command(bed)
    times = [_wall_s(case.of_steps(line, probe), bed) for probe in case.probes]
    step_s = (times[1] - times[0]) / (case.probes[1] - case.probes[0])
    whole_s = times[0] + (case.steps - case.probes[0]) * step_s
    start = time.monotonic()
    tuned = _tuned(case.of_steps(line, case.steps), bed, case.budget)
    took_s, budget_s = time.monotonic() - start, parse_duration(case.budget)
    return judged(tuned, whole_s, budget_s, took_s)


def judged(tuned: dict[str, Any], whole_s: float, budget_s: float, took_s: float) -> dict[str, Any]:
    """Return the result of a tune, its cost, and the cost of the same number of whole runs."""
    split = tuned["split"] or {}
    fewer = tuned["runs"] * whole_s / took_s
    return {
        "whole_s": round(whole_s, 1),
        "budget_s": budget_s,
        "took_s": round(took_s, 1),
        "runs": tuned["runs"],
        "of_a_run": round(took_s / whole_s, 3),
        "fewer": round(fewer, 1),
        "scope": tuned["scope"],
        "verdict": tuned["verdict"],
        "ratio": tuned["ratio"],
        "interval": tuned["ratio_interval"],
        "start_s": split.get("start_s"),
        "step_s": split.get("per_mark_s"),
        "start": [split["ratio_start"], *split["ratio_start_interval"]] if split else None,
        "main": [split["ratio_main"], *split["ratio_main_interval"]] if split else None,
        "changes": changes_of(tuned),
        "right": took_s <= _OVER * budget_s
        and not tuned["interrupted"]
        and (whole_s < _LONG_S or fewer >= _TIMES_FEWER),
    }


def _wall_s(line: _Line, bed: Bed) -> float:
    with TemporaryDirectory(prefix="mpiric-long-") as name:
        argv, place = _placed(line, Path(name))
        start = time.monotonic()
        subprocess.run(argv, cwd=place, env=bed.environment, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start


def _tuned(line: _Line, bed: Bed, budget: str) -> dict[str, Any]:
    with TemporaryDirectory(prefix="mpiric-long-") as name:
        (Path(name) / "work").mkdir()
        argv, place = _placed(line, Path(name) / "work")
        options = ["tune", "--json", "--budget", budget, "--store", f"{name}/store", "--", *argv]
        done = subprocess.run(
            [sys.executable, "-m", "mpiric", *options],
            cwd=place,
            env=bed.environment,
            stdout=subprocess.PIPE,
            stderr=None,
            text=True,
            check=False,
        )
    if done.returncode:
        raise MpiricError(f"mpiric tune ended with status {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _placed(line: _Line, place: Path) -> tuple[list[str], Path]:
    argv, inputs = line
    for name, text in inputs.items():
        (place / name).write_text(text)
    return argv, place


if __name__ == "__main__":
    sys.exit(main())

"""What a tune of a program that runs for long costs, and what it says of it.

Each case is `mpiric tune` with a budget on a command as a user has it. What a whole run would take is
measured by two short runs of different length. The price is what the tune took: beside its budget, beside one
whole run, and beside as many whole runs as the tune made runs. The gain of melt lies in its start-up alone.
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
    """A program of so many steps, the time for its tune, and numbers of steps that show its length."""

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
    """256 atoms, whose steps are mostly messages, with what a script for another cluster has set."""
    (launcher, *words), inputs = _lammps(line, steps)
    small = {name: text.replace("0 10 0 10 0 10", "0 4 0 4 0 4") for name, text in inputs.items()}
    return [launcher, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", *words], small


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
    """Tune each program."""
    parser = options("long_programs", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only cases whose name contains this")
    offer_parts(parser)
    offer_sources(parser)
    return run("long_programs", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """One row a case."""
    kept = KeptRows("long_programs", given)
    words = given.only or (["46 seconds"] if given.quick else [""])
    for case in CASES:
        if any(word in case.name for word in words):
            kept.add(case.name, partial(_rows, case, given.sources))
    right = sum(bool(row["right"]) for row in kept.rows)
    return Result(
        COLUMNS,
        kept.rows,
        f"{right} of {len(kept.rows)} tunes ended within their budget and 10 %, with an answer, and cost "
        f"{_TIMES_FEWER:.0f} times fewer core-hours than whole runs where one takes a minute or more."
        f"{kept.remark}",
    )


def _rows(case: Case, sources: Path | None) -> Iterator[dict[str, Any]]:
    found = releases([case.library])
    if not found:
        raise NotFoundError(f"no {case.library} is here")
    (bed,) = found.values()
    (program,) = [each for each in programs(sources) if each.name == case.program]
    row = {"case": case.name, "library": bed.mpi.label, **_row(case, program, bed)}
    tell(str(row))
    yield row


def _row(case: Case, program: MarkProgram, bed: Bed) -> dict[str, Any]:
    line = program.command(bed)
    times = [_wall_s(case.of_steps(line, probe), bed) for probe in case.probes]
    step_s = (times[1] - times[0]) / (case.probes[1] - case.probes[0])
    whole_s = times[0] + (case.steps - case.probes[0]) * step_s
    begun = time.monotonic()
    tuned = _tuned(case.of_steps(line, case.steps), bed, case.budget)
    took_s, budget_s = time.monotonic() - begun, parse_duration(case.budget)
    return judged(tuned, whole_s, budget_s, took_s)


def judged(tuned: dict[str, Any], whole_s: float, budget_s: float, took_s: float) -> dict[str, Any]:
    """What a tune's JSON says, beside what it cost and what its runs would have cost to their end."""
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
        begun = time.monotonic()
        subprocess.run(argv, cwd=place, env=bed.environment, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - begun


def _tuned(line: _Line, bed: Bed, budget: str) -> dict[str, Any]:
    with TemporaryDirectory(prefix="mpiric-long-") as name:
        (Path(name) / "work").mkdir()
        argv, place = _placed(line, Path(name) / "work")
        words = ["tune", "--json", "--budget", budget, "--store", f"{name}/store", "--", *argv]
        done = subprocess.run(
            [sys.executable, "-m", "mpiric", *words],
            cwd=place,
            env=bed.environment,
            stdout=subprocess.PIPE,
            stderr=None,
            text=True,
            check=False,
        )
    if done.returncode:
        raise MpiricError(f"mpiric tune ended with status {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _placed(line: _Line, place: Path) -> tuple[list[str], Path]:
    argv, inputs = line
    for name, text in inputs.items():
        (place / name).write_text(text)
    return argv, place


if __name__ == "__main__":
    sys.exit(main())

"""Command line of `python -m benchmarks.field`."""

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import field
from benchmarks._kept_rows import KeptRows, Row, offer_parts
from benchmarks._programs import releases
from benchmarks._report import Result, options, run, tell
from benchmarks.field.measure import rows
from benchmarks.field.programs import PACKAGES, PROGRAMS, FieldProgram
from benchmarks.field.sources import SOURCES
from mpiric.model.errors import NotFoundError

COLUMNS = {
    "program": "program",
    "library": "library",
    "budget": "budget",
    "run_s": "run s",
    "scope": "looked at",
    "hand": "gain by hand",
    "claimed": "gain claimed",
    "proved": "proved",
    "confirmed": "gain confirmed",
    "confirmed_interval": "95 %",
    "right_rejected": "right answers rejected",
    "wrong_accepted": "wrong answers accepted",
    "settings": "settings",
    "heavier": "heavier than needed",
    "budget_kept": "budget kept",
    "tuned": "answer",
}


def main() -> int:
    """Tune each program and compare with the expert's command."""
    parser = options("field", (field.__doc__ or "").strip())
    parser.add_argument("--only", action="append", help="regular expression of programs")
    parser.add_argument("--budget", action="append", help="of each tune; may be repeated (default 60s)")
    parser.add_argument("--long-budget", default="3m", help="the same for programs that run for an hour")
    parser.add_argument(
        "--confirm",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long the confirming runs of a program take together",
    )
    parser.add_argument("--sources", type=Path, help="directory with checkouts; see --list")
    parser.add_argument("--list", action="store_true", help="list programs, packages and repositories")
    offer_parts(parser)
    arguments = parser.parse_args()
    if arguments.list:
        _list()
        return 0
    return run("field", arguments, measure)


def measure(arguments: Namespace) -> Result:
    """Measure every program and return the table, a row for each program and budget."""
    table = KeptRows("field", arguments)
    names = arguments.only or (["LAMMPS"] if arguments.quick else [""])
    for program in PROGRAMS:
        if not any(re.search(pattern, program.name, re.I) for pattern in names):
            continue
        budgets = [arguments.long_budget] if program.is_long else arguments.budget or ["60s"]
        for budget in budgets:  # a part each: `--resume` goes on with the next
            table.add(f"{program.name}, {budget}", partial(_rows, program, [budget], arguments))
    return Result(COLUMNS, table.rows, f"{summary(table.rows)}{table.remark}")


def _rows(program: FieldProgram, budgets: list[str], arguments: Namespace) -> list[Row]:
    result = releases([program.library])
    if not result:
        raise NotFoundError(f"no {program.library} was found", hint="mpiric mpi list")
    tell(f"{program.name}: budget {', '.join(budgets)}")
    return rows(
        program, result[program.library], arguments.sources, budgets, arguments.confirm, arguments.seed
    )


def summary(result: Sequence[Row]) -> str:
    """Return the sentence below the table, on the goals that are reached."""
    if not result:
        return "No program was tuned."
    reached, holds = (sum(bool(row[key]) for row in result) for key in ("reached", "claim_holds"))
    rejected, wrong, in_budget = (
        sum(int(row[key]) for row in result) for key in ("right_rejected", "wrong_accepted", "budget_kept")
    )
    return (
        f"{reached} of {len(result)} tunes reached 90 % of the gain by hand; {holds} of {len(result)} claims "
        f"are within 5 % of the confirmation. Right answers rejected: {rejected}; wrong answers accepted: "
        f"{wrong}. Budgets kept: {in_budget} of {len(result)}."
    )


def _list() -> None:
    for program in PROGRAMS:
        print(f"{program.name:24} {program.library:10} {program.origin:32} by hand: {program.by_hand.reason}")
    print(f"\nDebian packages: {PACKAGES}")
    for source in SOURCES.values():
        print(f"git clone https://github.com/{source.repository}")


if __name__ == "__main__":
    sys.exit(main())

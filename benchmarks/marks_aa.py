"""Error rate of the proof between identical configurations at marks, where any claim is wrong.

Every proof has fresh runs that end at the second of two marks, in random order, and compares the time per
mark by the stopping rule of a tune. Both sides are the unchanged command. Programs are short.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks._kept_rows import KeptRows, Row, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._marked import MarkedProgram, marked_program
from benchmarks._programs import Bed, bed
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import upper_bound
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.pace import MarkPair
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.plans.prove import ProofState, prove
from mpiric.statistics.claims import StoppingRule

_GOAL = 0.01
_SAME = Configuration.of({"nothing": "changed"})  # only a name; it runs like the original
_WORKS = ("cg", "heat3d", "CoMD", "LAMMPS melt")
_WINDOW = (20, 120)  # numbers of the first and last call
_SECONDS = 0.5  # length of a window
_AT_ONCE = 5  # proofs that are kept together
_RULE = StoppingRule(max_pairs=12)  # small proofs: nine pairs that agree decide

COLUMNS = {
    "program": "program",
    "mark": "mark",
    "proofs": "proofs",
    "wrong": "wrong verdicts",
    "upper95": "at most (95 %)",
    "pairs": "pairs each, median",
    "step_s": "time per mark s",
    "spread": "spread of runs",
}


def main() -> int:
    """Prove as often as asked for."""
    parser = options("marks_aa", (__doc__ or "").splitlines()[0])
    parser.add_argument("--proofs", type=int, help="in all (default 200, quick 4)")
    offer_parts(parser)
    parser.add_argument("--mpi", default="mpich", help="MPI implementation (default mpich)")
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    offer_sources(parser)
    return run("marks_aa", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure a row for each program; save the proofs in groups."""
    chosen = programs(arguments.sources, arguments.only or _WORKS)
    count = (arguments.proofs or (4 if arguments.quick else 200)) // len(chosen)
    table, own_bed = KeptRows("marks_aa", arguments), bed(arguments.mpi)
    for first in range(0, count, _AT_ONCE):
        numbers = range(first, min(count, first + _AT_ONCE))
        for program in chosen:
            part = f"{program.name}, proofs from {first}"
            table.add(part, partial(_proofs, program, own_bed, numbers))
    rows = [_row_of(program.name, table.rows) for program in chosen]
    proofs, wrong = (sum(row[key] for row in rows) for key in ("proofs", "wrong"))
    return Result(
        COLUMNS,
        rows,
        f"{wrong} of {proofs} proofs of identical sides at marks call a difference "
        f"(at most {upper_bound(wrong, proofs):.1%} at 95 %; goal {_GOAL:.0%}).{table.remark}",
    )


def _proofs(program: MarkProgram, own_bed: Bed, numbers: range) -> Iterator[dict[str, Any]]:
    """Return a row for each proof."""
    argv, inputs = program.command(own_bed)
    with marked_program(argv, own_bed, inputs) as marked:
        pair = marked.learn().short_pair(_WINDOW, _SECONDS)
        for number in numbers:
            evidence = _proof(marked, pair, number)
            tell(f"{program.name} {number}: {evidence.verdict.value}")
            yield {
                "program": program.name,
                "mark": f"{pair.key.function.removeprefix('MPI_')} {pair.first}–{pair.last}",
                "wrong": evidence.verdict.is_claim,
                "times_s": [list(both) for both in evidence.pairs],
            }


def _row_of(program: str, proofs: Sequence[Row]) -> Row:
    """Return the row of one program from its proofs."""
    program_proofs = [row for row in proofs if row["program"] == program]
    times = sorted(seconds for row in program_proofs for both in row["times_s"] for seconds in both)
    quarter, middle = len(times) // 4, median(times) if times else 0.0
    wrong, marks = (
        sum(row["wrong"] for row in program_proofs),
        sorted({row["mark"] for row in program_proofs}),
    )
    other_windows = f" and {len(marks) - 1} other windows" if marks[1:] else ""
    return {
        "program": program,
        "mark": f"{marks[0]}{other_windows}" if marks else None,
        "proofs": len(program_proofs),
        "wrong": wrong,
        "upper95": round(upper_bound(wrong, len(program_proofs)), 4) if program_proofs else None,
        "pairs": median(len(row["times_s"]) for row in program_proofs) if program_proofs else None,
        "step_s": middle,
        "spread": round((times[-1 - quarter] - times[quarter]) / middle, 3) if middle else None,
    }


def _proof(marked: MarkedProgram, pair: MarkPair, number: int) -> Evidence:
    def trial(planned: Run) -> Trial:
        marked_run = marked.run(pair)
        step_s = marked_run.split.per_mark_s if marked_run.split else None
        outcome = marked_run.execution.outcome if step_s else Outcome.FAILED
        return Trial(
            planned.configuration,
            Phase.PROOF,
            outcome,
            marked_run.execution.wall_s,
            step_s,
            pair=planned.pair,
            replicate=planned.replicate,
        )

    return drive(prove(ProofState(_SAME, rule=_RULE, seed=number)), trial).evidence


if __name__ == "__main__":
    sys.exit(main())

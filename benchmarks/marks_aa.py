"""How often the proof calls a difference between identical configurations at marks, which is always wrong.

Every proof is one of fresh runs that end at the last of two marks, compared by the time per mark, in random
order and by the stopping rule of a tune, with the command as it is on both sides. Programs are short.
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
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence
from mpiric.model.marks import MarkPair
from mpiric.model.run import Run
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.plans.prove import prove
from mpiric.tuning.proof.stopping_rule import StoppingRule

_GOAL = 0.01
_SAME = Configuration.of({"nothing": "changed"})  # by name only: it is run as the original
_WORKS = ("cg", "heat3d", "CoMD", "LAMMPS melt")
_WINDOW = (20, 120)  # numbers of the calls
_SECONDS = 0.5  # of a window
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
    parser.add_argument("--mpi", default="mpich", help="implementation")
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    offer_sources(parser)
    return run("marks_aa", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """A row for each program, of proofs that are kept a few at a time."""
    chosen = programs(given.sources, given.only or _WORKS)
    wanted = (given.proofs or (4 if given.quick else 200)) // len(chosen)
    kept, own_bed = KeptRows("marks_aa", given), bed(given.mpi)
    for first in range(0, wanted, _AT_ONCE):
        numbers = range(first, min(wanted, first + _AT_ONCE))
        for program in chosen:
            part = f"{program.name}, proofs from {first}"
            kept.add(part, partial(_proofs, program, own_bed, numbers))
    rows = [_row_of(program.name, kept.rows) for program in chosen]
    proofs, wrong = (sum(row[key] for row in rows) for key in ("proofs", "wrong"))
    return Result(
        COLUMNS,
        rows,
        f"{wrong} of {proofs} proofs of identical sides at marks call a difference "
        f"(at most {upper_bound(wrong, proofs):.1%} at 95 %; goal {_GOAL:.0%}).{kept.remark}",
    )


def _proofs(program: MarkProgram, own_bed: Bed, numbers: range) -> Iterator[dict[str, Any]]:
    """A row for each proof."""
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
    """The proofs of one program together."""
    own = [row for row in proofs if row["program"] == program]
    times = sorted(each for row in own for both in row["times_s"] for each in both)
    quarter, middle = len(times) // 4, median(times) if times else 0.0
    wrong, marks = sum(row["wrong"] for row in own), sorted({row["mark"] for row in own})
    others = f" and {len(marks) - 1} other windows" if marks[1:] else ""
    return {
        "program": program,
        "mark": f"{marks[0]}{others}" if marks else None,
        "proofs": len(own),
        "wrong": wrong,
        "upper95": round(upper_bound(wrong, len(own)), 4) if own else None,
        "pairs": median(len(row["times_s"]) for row in own) if own else None,
        "step_s": middle,
        "spread": round((times[-1 - quarter] - times[quarter]) / middle, 3) if middle else None,
    }


def _proof(marked: MarkedProgram, pair: MarkPair, number: int) -> Evidence:
    def trial(planned: Run) -> Trial:
        seen = marked.run(pair)
        step_s = seen.split.per_mark_s if seen.split else None
        outcome = seen.execution.outcome if step_s else Outcome.FAILED
        return Trial(
            planned.configuration,
            Phase.PROOF,
            outcome,
            seen.execution.wall_s,
            step_s,
            pair=planned.pair,
            replicate=planned.replicate,
        )

    return prove(trial, _SAME, rule=_RULE, seed=number).evidence


if __name__ == "__main__":
    sys.exit(main())

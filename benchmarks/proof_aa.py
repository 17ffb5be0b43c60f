"""Error rate of the proof between identical configurations, where any claim is wrong.

Each comparison is a whole proof with the components of `tune` (runner, working copies, judge, paired runs in
random order, the stopping rule). The candidate is the original itself.
"""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._programs import bed
from benchmarks._report import RESULTS, Result, options, run, tell
from benchmarks._statistics import upper_bound
from benchmarks._workbench import Workbench, workbench
from mpiric.lab.lab import drive
from mpiric.model.amount import parse_duration
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.run import Phase, Run, Trial
from mpiric.plans.prove import ProofState, prove

_GOAL = 0.01
_WORKS = {"heat3d": (96, 10), "pingpong": (20000,), "malloc_churn": (6,)}  # below 1 s, various noise
_SAME = Configuration.of({"nothing": "changed"})  # only a name; it runs like the original

COLUMNS = {
    "program": "program",
    "comparisons": "comparisons",
    "wrong": "wrong verdicts",
    "share": "share",
    "upper95": "at most (95 %)",
    "pairs": "pairs in all",
    "pairs_median": "pairs each, median",
    "run_s": "a run, s",
    "spread": "spread of runs",
}


def main() -> int:
    """Compare until the number asked for or the time limit is reached."""
    parser = options("proof_aa", "How often does a proof call a difference between identical configurations?")
    parser.add_argument("--comparisons", type=int, help="in all (default 300, quick 10)")
    parser.add_argument("--time-limit", default="12h", help="stop after this and report what there is")
    parser.add_argument("--resume", action="store_true", help="go on where the last one stopped")
    parser.add_argument("--mpi", default="mpich", help="MPI implementation (default mpich)")
    return run("proof_aa", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Run the programs in turns, so that each has its share whenever the benchmark stops."""
    count = arguments.comparisons or (10 if arguments.quick else 300)
    until = time.monotonic() + parse_duration(arguments.time_limit)
    own_bed = bed(arguments.mpi)
    log = RESULTS / f"proof_aa-{own_bed.mpi.label}{'-quick' if arguments.quick else ''}.jsonl"
    done = read_done(log) if arguments.resume else []
    if not arguments.resume:
        log.unlink(missing_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    for index, (program, program_arguments) in enumerate(_WORKS.items()):
        share = count // len(_WORKS) + (index < count % len(_WORKS))
        have = sum(entry["program"] == program for entry in done)
        if have >= share or time.monotonic() >= until:
            continue
        part_s = (until - time.monotonic()) / (len(_WORKS) - index)
        with workbench(own_bed.line(2, program, *program_arguments), own_bed) as bench:
            done += _compare(bench, program, range(have, share), time.monotonic() + part_s, log)
    rows = [row_of(program, [entry for entry in done if entry["program"] == program]) for program in _WORKS]
    rows = [row for row in (*rows, row_of("all", done)) if row["comparisons"]]
    return Result(
        COLUMNS, rows, summary_of(rows[-1] if rows else row_of("all", [])), {"mpi": own_bed.mpi.label}
    )


def _compare(bench: Workbench, program: str, numbers: range, until: float, log: Path) -> list[dict[str, Any]]:
    """Run one proof after the other; log each before the next one starts."""
    proofs: list[dict[str, Any]] = []

    def trial(run: Run) -> Trial:
        return bench.run(Configuration(), Phase.PROOF, pair=run.pair)

    for number in numbers:
        if time.monotonic() >= until:
            break
        evidence = drive(prove(ProofState(_SAME, seed=hash_of(program, number))), trial).evidence
        entry = {
            "program": program,
            "number": number,
            "verdict": evidence.verdict.value,
            "ratio": evidence.ratio,
            "stopped_because": evidence.stopped_because,
            "times_s": [list(pair) for pair in evidence.pairs],
        }
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        proofs.append(entry)
        tell(f"{program} {number + 1}/{numbers.stop}: {evidence.verdict.value}, {len(evidence.pairs)} pairs")
    return proofs


def hash_of(program: str, number: int) -> int:
    """Return a separate seed for each comparison, equal in all processes."""
    return sum(map(ord, program)) * 1_000_003 + number


def read_done(log: Path) -> list[dict[str, Any]]:
    """Comparisons of an earlier run; a last line cut short is left out."""
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}\n")]


def row_of(program: str, done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one row of the table."""
    wrong = sum(Verdict(entry["verdict"]).is_claim for entry in done)
    pairs = [len(entry["times_s"]) for entry in done]
    walls = sorted(wall for entry in done for pair in entry["times_s"] for wall in pair)
    middle = median(walls) if walls else 0.0
    quarter = len(walls) // 4
    return {
        "program": program,
        "comparisons": len(done),
        "wrong": wrong,
        "share": wrong / len(done) if done else 0.0,
        "upper95": round(upper_bound(wrong, len(done)), 4),
        "pairs": sum(pairs),
        "pairs_median": median(pairs) if pairs else 0,
        "run_s": round(middle, 4),
        "spread": f"±{(walls[-1 - quarter] - walls[quarter]) / 2 / middle:.1%}" if middle else "",
    }


def summary_of(everything: Mapping[str, Any]) -> str:
    """Compare the share with its goal."""
    count, wrong = everything["comparisons"], everything["wrong"]
    bound = everything["upper95"]
    reached = "reached" if bound <= _GOAL else "not shown by so few" if wrong <= _GOAL * count else "missed"
    return (
        f"{wrong} false verdicts in {count} comparisons, at most {bound:.2%} with 95 % confidence "
        f"(goal: at most {_GOAL:.0%}, {reached})."
    )


if __name__ == "__main__":
    sys.exit(main())

"""Compare the answers of `mpiric tune` with the known best commands of five programs: runs and gain.

Each case is the command of a user and the same command as an expert writes it, with the options of the
library; no knob of mpiric is named here. `mpiric tune --json` gets the first one. The command that it prints,
which needs no mpiric, runs in turns with both.
"""

import json
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._programs import Bed, beds, changes_of, chosen, offer_choice, results_directory
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import ratio
from mpiric.host.facts.local import LocalHost
from mpiric.machine import read_machine
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.statistics.confidence_sequence import centre
from mpiric.tuning.events import read_log
from mpiric.tuning.store import EVENTS

_CLOSE = 0.05  # found: at most this much slower than the expert's command
_WORTH = 1.03  # a smaller gain of the expert means that this machine offers no gain
_NEAR = 1.10  # a run of the search within this of the proved time has arrived

_FROM_MESSAGES = {
    f"MPIR_CVAR_{collective}_POSIX_INTRA_ALGORITHM": "mpir"
    for collective in ("ALLREDUCE", "BARRIER", "REDUCE", "BCAST")
}
_OWN_SHARED_MEMORY = ("--mca", "pml", "ob1", "--mca", "btl", "self,sm")
_SLEEP = ("--mca", "mpi_yield_when_idle", "1", "--mca", "threads_pthreads_yield_strategy", "nanosleep")
_KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "536870912"}


@dataclass(frozen=True)
class Case:
    """A known win: launcher options and environment of a user, and of an expert."""

    name: str
    mpi: str  # implementation
    program: str
    ranks_per_cpu: int = 1
    original: tuple[str, ...] = ()
    original_environment: Mapping[str, str] = field(default_factory=dict)
    best: tuple[str, ...] = ()
    best_environment: Mapping[str, str] = field(default_factory=dict)


CASES = (
    Case("unbound latency", "mpich", "pingpong", best=("-bind-to", "core")),
    Case("oversubscription", "mpich", "oversubscribed", 2, best_environment=_FROM_MESSAGES),
    Case("malloc churn", "mpich", "malloc_churn", best_environment=_KEEP_MEMORY),
    Case(
        "random access",
        "mpich",
        "random_access",
        best_environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    ),
    Case(
        "wrong transport",
        "mpich",
        "halo_bytes",
        original_environment={"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp"},
    ),
    Case(
        "wrong transport",
        "openmpi",
        "halo_bytes",
        original=("--mca", "pml", "ob1", "--mca", "btl", "tcp,self"),
        best=_OWN_SHARED_MEMORY,  # the default of version 5 is UCX here, which is even slower
    ),
    Case("wrong transport", "intelmpi", "halo_bytes", original_environment={"I_MPI_FABRICS": "ofi"}),
    Case(
        "oversubscription",
        "openmpi",
        "oversubscribed",
        2,
        original=("--oversubscribe",),
        best=("--oversubscribe", "--bind-to", "none", *_SLEEP, *_OWN_SHARED_MEMORY),
    ),
    Case(
        "oversubscription",
        "intelmpi",
        "oversubscribed",
        2,
        best_environment={"I_MPI_WAIT_MODE": "1", "I_MPI_PIN": "0"},
    ),
)
_QUICK = ("mpich",)  # libraries of the quick form

COLUMNS = {
    "case": "program",
    "mpi": "MPI",
    "found": "found",
    "known_gain": "known gain",
    "known_gain_ci95": "95 %",
    "tuned_gain": "tuned gain",
    "tuned_gain_ci95": "95 %",
    "runs": "runs",
    "arrived_after": "near it after",
    "changes": "changes by tune",
}


def main() -> int:
    """Run the cases whose libraries are installed."""
    parser = options("known_wins", "Compare tune's answers with the known best commands.")
    parser.add_argument("--budget", help="time budget of one tune (default 2m, quick 30s)")
    parser.add_argument("--rounds", type=int, help="rounds of all three commands (default 15, quick 5)")
    offer_choice(parser)
    return run("known_wins", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure every case: tune, then run original, known best and tuned in turns."""
    available = beds()
    of_form = (
        CASES if arguments.mpi or not arguments.quick else [case for case in CASES if case.mpi in _QUICK]
    )
    rows = [_row(case, available[case.mpi], arguments) for case in chosen(of_form, available, arguments)]
    return Result(COLUMNS, rows, summary_of(rows))


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary: number of wins of this machine that were found."""
    real = [row for row in rows if row["found"] is not None]
    found_count = sum(row["found"] for row in real)
    gainless = len(rows) - len(real)
    nothing = (
        f"; in {gainless} the expert's command gains less than {_WORTH - 1:.0%} here" if gainless else ""
    )
    close = f"within {_CLOSE:.0%} of the expert's command"
    return f"{found_count} of {len(real)} known wins found and proved ({close}){nothing}."


def _row(case: Case, bed: Bed, arguments: Namespace) -> dict[str, Any]:
    tell(f"{case.name} under {bed.mpi.label} …")
    cpus = read_machine(LocalHost(), str(Path.cwd())).usable_cpu_count
    ranks = 2 * case.ranks_per_cpu if case.ranks_per_cpu == 1 else max(2, cpus) * case.ranks_per_cpu
    original = bed.line(ranks, case.program, options=case.original)
    environment = {**bed.environment, **case.original_environment}
    place = results_directory("known_wins", case.name, bed)
    tuned, trials = _tune(original, environment, place, arguments)
    command = tuned["command"] or {"argv": original, "env": {}, "unset": []}
    sides = {
        "original": launch(original),
        "known": launch(
            bed.line(ranks, case.program, options=case.best),
            case.best_environment,
            tuple(case.original_environment),
        ),
        "tuned": launch(command["argv"], command["env"], tuple(command["unset"])),
    }
    times = in_turns(sides, environment, arguments.rounds or (5 if arguments.quick else 15), arguments.seed)
    expert, gain = ratio(times["original"], times["known"]), ratio(times["original"], times["tuned"])
    behind = ratio(times["tuned"], times["known"])
    return {
        "case": case.name,
        "mpi": bed.mpi.label,
        "found": is_found(expert.middle, behind.middle, tuned["verdict"]),
        "known_gain": round(expert.middle, 3),
        "known_gain_ci95": expert.interval,
        "tuned_gain": round(gain.middle, 3),
        "tuned_gain_ci95": gain.interval,
        "tuned_over_known": round(behind.middle, 3),
        "tuned_over_known_ci95": behind.interval,
        "median_s": {name: round(centre(seconds), 4) for name, seconds in times.items()},
        "verdict": tuned["verdict"],
        "proved_ratio": tuned["ratio"],
        "proved_ratio_ci95": tuned["ratio_ci95"],
        "runs": tuned["runs"],
        "runs_of_search": sum(trial.phase is Phase.SEARCH for trial in trials),
        "arrived_after": arrived_after(trials, (tuned["tuned"] or {}).get("median_s")),
        "elapsed_s": round(tuned["elapsed_s"], 1),
        "changes": changes_of(tuned),
        "command": command,
        "times_s": times,
    }


def is_found(known_gain: float, tuned_over_known: float, verdict: str) -> bool | None:
    """Return whether tune proved a command as fast as the expert's; None if the expert's gains nothing."""
    if known_gain < _WORTH:
        return None
    return verdict == Verdict.FASTER.value and tuned_over_known <= 1 + _CLOSE


def arrived_after(trials: Sequence[Trial], proved_s: float | None) -> int | None:
    """Return the number of runs until one was near the finally proved time."""
    if proved_s is None:
        return None
    for count, trial in enumerate(trials, start=1):
        near = trial.outcome is Outcome.OK and trial.wall_s <= _NEAR * proved_s
        if near and trial.configuration and trial.phase is Phase.SEARCH:
            return count
    return None


def _tune(
    argv: list[str], environment: Mapping[str, str], place: Path, arguments: Namespace
) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """Return the result of `mpiric tune --json`, and the trials in its store."""
    shutil.rmtree(place, ignore_errors=True)
    directory = place / "work"
    directory.mkdir(parents=True)
    budget = arguments.budget or ("30s" if arguments.quick else "2m")
    options = [
        "tune",
        "--json",
        "--budget",
        budget,
        "--seed",
        str(arguments.seed),
        "--store",
        str(place / "store"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mpiric", *options, "--", *argv],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MpiricError(f"tune failed on {' '.join(argv)}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout), read_log(next((place / "store").glob(f"*/{EVENTS}"))).trials


if __name__ == "__main__":
    sys.exit(main())

"""Runs that end at their mark: leftover processes and files, and the time until the launcher has ended.

The benchmark counts processes that carry its tag, new files in /dev/shm (for root in a separate mount,
without the segments of other users) and in the temporary directory of the launch, where launchers keep their
sessions. srun runs on the virtual cluster, two ranks on two hosts.
"""

import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tests.lab import cluster
from tests.support.slurm_lab import slurm_lab

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._marked import MarkedProgram, MarkedRun, marked_program
from benchmarks._programs import Bed, releases
from benchmarks._report import ROOT, Result, options, run, tell
from mpiric.model.errors import NotFoundError
from mpiric.model.pace import MarkKey, MarkPair, MarksState

_PROGRAM = ROOT / "tests/system/programs/steps.c"  # runs for hours in steps of 2 ms
_LAUNCHERS = {
    "hydra": "mpich-5",
    "openmpi5": "openmpi-5",
    "openmpi4": "openmpi-4",
    "intelmpi": "intelmpi",
    "srun": "mpich-5",
}
_GOAL_S = {"srun": 1.0}  # else:
_GOAL_ELSEWHERE_S = 0.1
_LIMIT_S = 30.0
_TAG, _OWN_SHM = "MPIRIC_STOPPING", "MPIRIC_STOPPING_SHM"
_OF_SLURM = ("SLURM_CONF", "SLURM_JWT")
_SHM = Path("/dev/shm")  # noqa: S108
_PAIR = MarkPair(MarkKey("MPI_Allreduce", "", 2, 0), 5, 25)

COLUMNS = {
    "launcher": "launcher",
    "library": "library",
    "trials": "trials",
    "ended": "ended at the mark",
    "processes": "processes left",
    "shm": "segments left",
    "sessions": "session directories left",
    "after_median_s": "gone after the last mark s, median",
    "after_p95_s": "95 %",
    "after_most_s": "most",
    "within": "within the goal",
}


def main() -> int:
    """Stop runs under each launcher."""
    parser = options("stopping", (__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, help="for each launcher (default 200, quick 10)")
    parser.add_argument(
        "--launcher", action="append", choices=[*_LAUNCHERS], help="measure only these launchers"
    )
    parser.add_argument("--inside", help="in the virtual cluster already: where its hosts see files")
    offer_parts(parser)
    arguments = parser.parse_args()
    if os.geteuid() == 0 and _OWN_SHM not in os.environ and not arguments.inside:
        script = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        os.environ[_OWN_SHM] = "1"
        again = [sys.executable, "-m", "benchmarks.stopping", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", script, "sh", *again])  # noqa: S606
    if arguments.inside:
        print(json.dumps(_row("srun", arguments.trials, Path(arguments.inside))))
        return 0
    return run("stopping", arguments, measure)


def measure(arguments: Namespace) -> Result:
    """Measure one row per launcher."""
    trials = arguments.trials or (10 if arguments.quick else 200)
    table = KeptRows("stopping", arguments)
    for launcher in arguments.launcher or _LAUNCHERS:
        table.add(launcher, partial(_rows, launcher, trials))
    rows = table.rows
    leftovers = sum(row["processes"] + row["shm"] + row["sessions"] for row in rows)
    stopped_runs, within = (sum(row[key] for row in rows) for key in ("trials", "within"))
    return Result(
        COLUMNS,
        rows,
        f"{leftovers} things were left by {stopped_runs} stopped runs; the launcher was gone within the goal "
        f"(0.1 s, srun 1 s) in {within} of them.{table.remark}",
    )


def _rows(launcher: str, trials: int) -> Iterator[dict[str, Any]]:
    row = _in_the_lab(trials) if launcher == "srun" else _row(launcher, trials, None)
    tell(str(row))
    yield row


def _row(launcher: str, trials: int, shared: Path | None) -> dict[str, Any]:
    matches = releases([_LAUNCHERS[launcher]])
    if not matches:
        raise NotFoundError(f"{_LAUNCHERS[launcher]} is not installed")
    (bed,) = matches.values()
    with TemporaryDirectory(prefix="stop-", dir=shared) as place:
        sessions = Path(place) / "tmp"
        sessions.mkdir()
        environment = {**bed.environment, "TMPDIR": str(sessions), _TAG: place}
        if launcher == "srun":
            environment |= {name: os.environ[name] for name in _OF_SLURM if name in os.environ}
        bed = replace(bed, environment=environment)
        shm = set(_SHM.iterdir())
        with marked_program(_line(bed, launcher, place), bed, shared=Path(place)) as program:
            runs = list(_stopped(program, trials))
        time.sleep(0.2)
        afters = sorted(after for after, _ in runs)
        return {
            "launcher": launcher,
            "library": bed.mpi.label,
            "trials": trials,
            "ended": sum(ended for _, ended in runs),
            "processes": sum(_carries(path, place) for path in Path("/proc").glob("[0-9]*/environ")),
            "shm": len(set(_SHM.iterdir()) - shm),
            "sessions": sum(path.is_dir() for path in sessions.glob("*")),
            "after_median_s": round(median(afters), 4),
            "after_p95_s": round(afters[int(0.95 * (len(afters) - 1))], 4),
            "after_most_s": round(afters[-1], 4),
            "within": sum(after <= _GOAL_S.get(launcher, _GOAL_ELSEWHERE_S) for after in afters),
        }


def _line(bed: Bed, launcher: str, place: str) -> list[str]:
    program = bed.build(_PROGRAM, "endless_steps")
    if launcher != "srun":
        return [bed.mpi.launcher, "-n", "2", program]
    shared_program = Path(place) / "endless_steps"
    shared_program.write_bytes(Path(program).read_bytes())
    shared_program.chmod(0o755)
    return ["srun", "--mpi=pmi2", "-N", "2", "-n", "2", str(shared_program)]


def _stopped(program: MarkedProgram, trials: int) -> Iterator[tuple[float, bool]]:
    """Yield the time from the last rank's mark to the end of the launch, and whether it ended at the mark."""
    for _ in range(trials):
        marked_run = program.run(_PAIR, limit_s=_LIMIT_S)
        first = marked_run.marks.ranks[0] if marked_run.marks else None
        ended = first is not None and first.state is MarksState.ENDED
        if not ended:
            tell(program.why_failed(marked_run.execution))
        yield (_after_s(marked_run) if ended else _LIMIT_S), ended


def _after_s(marked_run: MarkedRun) -> float:
    assert marked_run.marks is not None
    execution = marked_run.execution
    started_s = time.time() - (time.monotonic_ns() - execution.started_ns) / 1e9
    last_s = max(
        rank.begin_unix_s + rank.init_s + rank.last.at_s for rank in marked_run.marks.ranks if rank.last
    )
    return started_s + execution.wall_s - last_s


def _carries(environ: Path, place: str) -> bool:
    try:
        return f"{_TAG}={place}".encode() in environ.read_bytes()
    except OSError:
        return False


def _in_the_lab(trials: int) -> dict[str, Any]:
    """Run the measurement inside a host of the virtual cluster."""
    with (
        TemporaryDirectory(prefix="mpiric-stopping-") as place,
        slurm_lab(Path(place), ("n1", "n2")) as state,
    ):
        command = [sys.executable, "-m", "benchmarks.stopping", "--inside", place, "--trials", str(trials)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = cluster.run(state, "n1", command, environment, timeout=60 + 5 * trials)
        if done.returncode:
            raise NotFoundError(f"srun: {done.stderr.strip()[-300:]}")
        row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return row


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))

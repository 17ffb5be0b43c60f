"""Runs that end at their mark: what is left of them, and how soon after it the launcher is gone.

Looked for are processes that carry the benchmark's tag, what is new in /dev/shm (for root in a mount of its
own, so that others' segments are not taken for it) and in the temporary directory of the launch, where
launchers keep their sessions. srun runs on the virtual cluster, two ranks on two hosts.
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
from benchmarks._marked import MarkedProgram, Seen, marked_program
from benchmarks._programs import Bed, releases
from benchmarks._report import ROOT, Result, options, run, tell
from mpiric.model.errors import NotFoundError
from mpiric.model.marks import MarkPair, MarksState
from mpiric.model.pace import MarkKey

_PROGRAM = ROOT / "tests/system/programs/steps.c"  # of steps of 2 ms, for hours
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
    parser.add_argument("--launcher", action="append", choices=[*_LAUNCHERS], help="only these")
    parser.add_argument("--inside", help="in the virtual cluster already: where its hosts see files")
    offer_parts(parser)
    given = parser.parse_args()
    if os.geteuid() == 0 and _OWN_SHM not in os.environ and not given.inside:
        words = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        os.environ[_OWN_SHM] = "1"
        again = [sys.executable, "-m", "benchmarks.stopping", *sys.argv[1:]]
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", words, "sh", *again])  # noqa: S606
    if given.inside:
        print(json.dumps(_row("srun", given.trials, Path(given.inside))))
        return 0
    return run("stopping", given, measure)


def measure(given: Namespace) -> Result:
    """One row a launcher."""
    trials = given.trials or (10 if given.quick else 200)
    kept = KeptRows("stopping", given)
    for launcher in given.launcher or _LAUNCHERS:
        kept.add(launcher, partial(_rows, launcher, trials))
    rows = kept.rows
    left = sum(row["processes"] + row["shm"] + row["sessions"] for row in rows)
    made, within = (sum(row[key] for row in rows) for key in ("trials", "within"))
    return Result(
        COLUMNS,
        rows,
        f"{left} things were left by {made} stopped runs; the launcher was gone within the goal "
        f"(0.1 s, srun 1 s) in {within} of them.{kept.remark}",
    )


def _rows(launcher: str, trials: int) -> Iterator[dict[str, Any]]:
    row = _in_the_lab(trials) if launcher == "srun" else _row(launcher, trials, None)
    tell(str(row))
    yield row


def _row(launcher: str, trials: int, shared: Path | None) -> dict[str, Any]:
    found = releases([_LAUNCHERS[launcher]])
    if not found:
        raise NotFoundError(f"no {_LAUNCHERS[launcher]} is here")
    (bed,) = found.values()
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
    there = Path(place) / "endless_steps"
    there.write_bytes(Path(program).read_bytes())
    there.chmod(0o755)
    return ["srun", "--mpi=pmi2", "-N", "2", "-n", "2", str(there)]


def _stopped(program: MarkedProgram, trials: int) -> Iterator[tuple[float, bool]]:
    """How long after the last rank's mark each launch was gone, and whether it ended there."""
    for _ in range(trials):
        seen = program.run(_PAIR, limit_s=_LIMIT_S)
        first = seen.marks.ranks[0] if seen.marks else None
        ended = first is not None and first.state is MarksState.ENDED
        if not ended:
            tell(program.said(seen.execution))
        yield (_after_s(seen) if ended else _LIMIT_S), ended


def _after_s(seen: Seen) -> float:
    assert seen.marks is not None
    execution = seen.execution
    started_s = time.time() - (time.monotonic_ns() - execution.started_ns) / 1e9
    last_s = max(rank.begin_unix_s + rank.init_s + rank.last.at_s for rank in seen.marks.ranks if rank.last)
    return started_s + execution.wall_s - last_s


def _carries(environ: Path, place: str) -> bool:
    try:
        return f"{_TAG}={place}".encode() in environ.read_bytes()
    except OSError:
        return False


def _in_the_lab(trials: int) -> dict[str, Any]:
    """The same inside a host of the virtual cluster."""
    with (
        TemporaryDirectory(prefix="mpiric-stopping-") as place,
        slurm_lab(Path(place), ("n1", "n2")) as state,
    ):
        words = [sys.executable, "-m", "benchmarks.stopping", "--inside", place, "--trials", str(trials)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = cluster.run(state, "n1", words, environment, timeout=60 + 5 * trials)
        if done.returncode:
            raise NotFoundError(f"srun: {done.stderr.strip()[-300:]}")
        row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return row


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))

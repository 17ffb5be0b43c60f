"""Exports that need the virtual cluster: a job script under Slurm, the launcher's file of a map."""

import os
import shlex
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._exports_cases import NothingWrittenError, Place
from benchmarks._places import place as placed
from benchmarks._statistics import ratio
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.errors import ProgramFailedError
from mpiric.model.rank_order import RankOrder

_LIMIT_S = 900.0
_SLURM = ("--scheduler", "slurm")
_FORMS = {"mpich": "hydra", "intelmpi": "intelmpi", "openmpi": "prrte"}  # of launchers' rank files
_PAIRS = Path(__file__).parents[1] / "tests/system/programs/pairs.c"


def of_script(place: Place) -> dict[str, Any]:
    """A job script of `mpiric script` under Slurm on the virtual cluster, beside the line that it is of.

    Both run in an allocation, so that no queue counts. The claim is that the script runs the line as it is.
    """
    if os.geteuid():
        raise NothingWrittenError("the virtual cluster needs root")
    manager = "pmi2" if place.bed.mpi.implementation in ("mpich", "intelmpi") else "pmix"
    argv = ["srun", f"--mpi={manager}", "-n", "2", place.bed.program("pingpong")]
    script = place.directory / "job.sh"
    with _slurm(place) as in_job:
        script.write_text(in_job(place.words("script", *_SLURM, "-N", "1", "--", *argv)))
        sides = {"original": shlex.join(argv), "by hand": f"sh {shlex.quote(str(script))}"}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(place.given.rounds or (3 if place.given.quick else 9)):
            for name in list(sides) if turn % 2 else list(reversed(sides)):
                clock = f"t=$(date +%s.%N); {sides[name]} >/dev/null && echo $t $(date +%s.%N)"
                started, ended = map(float, in_job(["sh", "-c", clock]).split())
                times[name].append(ended - started)
    gain = ratio(times["original"], times["by hand"])
    return {
        "claim": 1.0,
        "by_hand": round(gain.middle, 3),
        "by_hand_ci95": gain.interval,
        "line": f"sbatch {script}",
        "times_s": times,
    }


def of_rank_file(place: Place) -> dict[str, Any]:
    """The launcher's file that `mpiric map --emit` writes, compared with `mpiric run --rank-order`.

    Four hosts of two ranks; each rank talks to one that begins on another host.
    """
    bed, out = place.bed, place.directory
    program = bed.build(_PAIRS, "pairs")
    form = rank_order_forms()[_FORMS[bed.mpi.implementation]]
    with placed("hosts", "eth0", 0) as hosts:
        environment = {**bed.environment, **hosts.environment(bed)}
        line, words = hosts.line(bed), [program, "200" if place.given.quick else "2000"]
        record, order, file = str(out / "record"), out / "order.txt", str(out / "ranks")
        hosts.execute(place.words("profile", "-o", record, "--", *line, *words), environment)
        hosts.execute(place.words("map", record, "--out", str(order)), environment)
        emitted = ("--emit", _FORMS[bed.mpi.implementation], "--out", file)
        hosts.execute(place.words("map", record, *emitted), environment)
        names = tuple(name for name in hosts.hosts for _ in range(hosts.ranks // hosts.nodes))
        options = form(RankOrder(tuple(map(int, order.read_text().split())), names)).options
        by_file = shlex.split(" ".join(options).replace("{file}", file))
        start = line if bed.mpi.implementation == "openmpi" else [line[0], "-n", str(hosts.ranks)]
        by_hand = [start[0], *by_file, *start[1:], *words]
        claimed = place.words("run", "--no-recipe", "--rank-order", str(order), "--", *line, *words)
        sides = {"original": [*line, *words], "by hand": by_hand, "claimed": claimed}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(place.given.rounds or (3 if place.given.quick else 9)):
            for name in list(sides) if turn % 2 else list(reversed(sides)):
                started = time.monotonic()
                hosts.execute(sides[name], environment)
                times[name].append(time.monotonic() - started)
    gain = ratio(times["original"], times["by hand"])
    return {
        "claim": round(ratio(times["original"], times["claimed"]).middle, 3),
        "by_hand": round(gain.middle, 3),
        "by_hand_ci95": gain.interval,
        "line": shlex.join(by_hand),
        "times_s": times,
    }


@contextmanager
def _slurm(place: Place) -> Any:
    """A host with Slurm; yields a function that runs a command in an allocation and returns its output."""
    from tests.lab import cluster
    from tests.lab.plan import Plan, host_names
    from tests.lab.slurm import daemons
    from tests.lab.slurm.config import SlurmPlan

    state = place.directory / "cluster"
    cluster.up(state, Plan(host_names("1")))
    try:
        daemons.up(state, SlurmPlan())

        def in_job(argv: list[str]) -> str:
            line = ["salloc", "--quiet", "--exclusive", "--nodes=1", *argv]
            done = cluster.run(state, "n1", line, dict(place.bed.environment), timeout=_LIMIT_S)
            if done.returncode:
                raise ProgramFailedError(f"{' '.join(argv)[:80]} …: {done.stderr.strip()[-300:]}")
            return done.stdout

        yield in_job
    finally:
        cluster.down(state)

"""Exports that need the virtual cluster: a site's files, a job script under Slurm, the file of a map."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._exports_cases import LIMIT_S, NothingWrittenError, Place, claim_of, compare, loaded
from benchmarks._places import place as placed
from benchmarks._statistics import Ratio
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.errors import ProgramFailedError
from mpiric.model.rank_order import RankOrder

_SLURM = ("--scheduler", "slurm")
_FORMS = {"mpich": "hydra", "intelmpi": "intelmpi", "openmpi": "prrte"}  # forms of rank files
_HOSTS = {
    "mpich": ("-hosts", "n1,n2", "-ppn", "1"),
    "intelmpi": ("-hosts", "n1,n2", "-ppn", "1"),
    "openmpi": ("--host", "n1,n2", "--bind-to", "none"),
}


def of_site_module(place: Place) -> dict[str, Any]:
    """Modulefile of `tune --site`, loaded as by a user."""
    return _of_site(place, "mpiric-site.tcl", lambda file: loaded(file.parent, file.name))


def of_site_snippet(place: Place) -> dict[str, Any]:
    """Shell snippet of `tune --site`, sourced as from /etc/profile.d."""
    return _of_site(place, "mpiric-site.sh", lambda file: f". {shlex.quote(str(file))}")


def _of_site(place: Place, name: str, use: Callable[[Path], str]) -> dict[str, Any]:
    """File of `tune --site` on two hosts whose plain names belong to the slower of two networks."""
    launcher, dialect = place.bed.mpi.launcher, place.bed.mpi.implementation
    argv = [launcher, *_HOSTS[dialect], "-n", "2", *place.program("exchange", 300, 75)]
    with _hosts(place, "2") as on_first:
        tune = [*place.tune_words("network-interface", "--site"), "--", *argv]
        tuned = place.proved("site", lambda: on_first(tune))
        file = Path(tuned["store"]) / "site" / name
        if not file.is_file():
            raise NothingWrittenError("other libraries read every setting too: the module has them")
        line = f"{use(file)}; {shlex.join(argv)}"
        sides = {"original": lambda: on_first(argv), "by hand": lambda: on_first(["sh", "-c", line])}
        return {**compare(sides, place.rounds, claim_of(tuned)), "line": line}


def of_script(place: Place) -> dict[str, Any]:
    """Compare a job script of `mpiric script` with its launch line, under Slurm on the virtual cluster.

    Both run in an allocation, so that no queue counts. The claim is that the script runs the line as it is.
    """
    manager = "pmi2" if place.bed.mpi.implementation in ("mpich", "intelmpi") else "pmix"
    argv = ["srun", f"--mpi={manager}", "-n", "2", *place.program("compute", 0, 150)]
    script = place.directory / "job.sh"
    with _hosts(place, "1", with_slurm=True) as on_first:

        def in_job(argv: list[str]) -> str:
            return on_first(["salloc", "--quiet", "--exclusive", "--nodes=1", *argv])

        script.write_text(in_job(place.words("script", *_SLURM, "-N", "1", "--", *argv)))
        sides = {"original": lambda: in_job(argv), "by hand": lambda: in_job(["sh", str(script)])}
        return {**compare(sides, place.rounds, Ratio(1.0, 1.0, 1.0)), "line": f"sbatch {script}"}


def of_rank_file(place: Place) -> dict[str, Any]:
    """Launcher file of `mpiric map --emit`, compared with `mpiric run --rank-order`.

    Four hosts of two ranks; each rank has its partner on another host at first.
    """
    _check_root()
    bed, out = place.bed, place.directory
    form = rank_order_forms()[_FORMS[bed.mpi.implementation]]
    with placed("hosts", "eth0", 0) as hosts:
        environment = {**bed.environment, **hosts.environment(bed)}
        line, program = hosts.line(bed), place.program("pairs", 150, 30)
        record, order, file = str(out / "record"), out / "order.txt", str(out / "ranks")
        hosts.execute(place.words("profile", "-o", record, "--", *line, *program), environment)
        hosts.execute(place.words("map", record, "--out", str(order)), environment)
        emitted = ("--emit", _FORMS[bed.mpi.implementation], "--out", file)
        hosts.execute(place.words("map", record, *emitted), environment)
        names = tuple(name for name in hosts.hosts for _ in range(hosts.ranks // hosts.nodes))
        emission = form(RankOrder(tuple(map(int, order.read_text().split())), names))
        by_file = shlex.split(" ".join(emission.options).replace("{file}", file))
        start = [line[0], "-n", str(hosts.ranks)]
        if bed.mpi.implementation == "openmpi":
            start = list(line)
            for option in set(emission.replaced) & set(line):
                del start[start.index(option) : start.index(option) + 2]
        by_hand = [start[0], *by_file, *start[1:], *program]
        claimed = place.words("run", "--no-recipe", "--rank-order", str(order), "--", *line, *program)
        sides = {
            "original": lambda: hosts.execute([*line, *program], environment),
            "by hand": lambda: hosts.execute(by_hand, environment),
            "claimed": lambda: hosts.execute(claimed, environment),
        }
        return {**compare(sides, place.rounds), "line": shlex.join(by_hand)}


CASES_OF_LAB: Mapping[str, Callable[[Place], dict[str, Any]]] = {
    "site's module": of_site_module,
    "site's snippet": of_site_snippet,
    "job script": of_script,
    "map's rank file": of_rank_file,
}


def _check_root() -> None:
    if os.geteuid():
        raise NothingWrittenError("the virtual cluster needs root")


@contextmanager
def _hosts(place: Place, count: str, *, with_slurm: bool = False) -> Iterator[Callable[[list[str]], str]]:
    """Start hosts; yield a function that runs a command on the first one and returns its output."""
    from tests.lab import cluster
    from tests.lab.plan import Plan, host_names
    from tests.lab.slurm import daemons
    from tests.lab.slurm.config import SlurmPlan

    _check_root()
    state = place.directory / "cluster"
    environment = dict(place.bed.environment)

    def on_first(argv: list[str]) -> str:
        done = cluster.run(state, "n1", argv, environment, timeout=LIMIT_S, cwd=place.directory)
        if done.returncode:
            raise ProgramFailedError(f"{shlex.join(argv)[:120]} …: {done.stderr.strip()[-400:]}")
        return done.stdout

    cluster.up(state, Plan(host_names(count)))
    try:
        if with_slurm:
            daemons.up(state, SlurmPlan())
        yield on_first
    finally:
        cluster.down(state)

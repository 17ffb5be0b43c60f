"""Typical problems of cluster users, recreated on the virtual cluster, and the answers of `mpiric tune`.

Each case is a command that works on the virtual cluster and is slow for a hidden reason: a library that uses
the slower of two networks, a transport preferred by its priority, `srun` without binding, MPICH without
binding. `mpiric fabric` measures the cost if a network is the reason; `mpiric tune` gets only the command.
The gain comes from its proof: fresh runs in pairs, in random order.
"""

import json
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab import cluster
from tests.lab.errors import LabError
from tests.lab.plan import Plan, host_names, networks
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan

from benchmarks._programs import Bed, beds, changes_of, chosen, offer_choice, results_directory
from benchmarks._report import Result, options, run, tell
from mpiric.model.errors import MpiricError, ProgramFailedError

_LIMIT_S = 1200.0
_SLOW, _QUICK = "slow0:delay=1ms,rate=100mbit", "quick0:rate=2gbit,mtu=9000"
_HYDRA = ("mpiexec", "-hosts", "n1,n2", "-ppn", "1", "-n", "2")
# All hosts share one machine's cores: these two would bind the first rank of every host to the first of them,
# and a rank that waits must let go of a core that another host's rank is on.
_OPENMPI = ("mpirun", "--host", "n1,n2", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
_INTEL = ("mpiexec", "-genv", "I_MPI_PIN", "0", "-genv", "I_MPI_THREAD_YIELD", "3", *_HYDRA[1:])


@dataclass(frozen=True)
class Case:
    """Launch line on the virtual cluster, and the reason why it is slow there."""

    name: str
    mpi: str  # implementation
    launch: tuple[str, ...]
    program: tuple[str, ...]  # name and arguments
    networks: tuple[str, ...] = (_SLOW, _QUICK)  # host names resolve to the first
    environment: Mapping[str, str] = field(default_factory=dict)
    hosts: int = 2
    slurm: bool = False


CASES = (
    # Its UCX sends large messages in parts over both networks.
    Case("slow network", "mpich", _HYDRA, ("ring", "1048576", "30")),
    Case("slow network", "openmpi", _OPENMPI, ("ring",)),
    # Among equals this one takes the network that the kernel lists last.
    Case("slow network", "intelmpi", _INTEL, ("ring",), (_QUICK, _SLOW)),
    # Settings of another cluster: for small messages one interface goes before the other.
    Case(
        "preferred by priority",
        "openmpi",
        _OPENMPI,
        ("ring", "64", "600"),
        environment={"OMPI_MCA_btl_tcp_latency_slow0": "1", "OMPI_MCA_btl_tcp_latency_quick0": "100"},
    ),
    Case(
        "srun without affinity",
        "mpich",
        ("srun", "--mpi=pmi2", "--cpu-bind=none", "--ntasks=2"),
        ("pingpong",),
        hosts=1,
        slurm=True,
    ),
    Case("launcher without affinity", "mpich", ("mpiexec", "-n", "2"), ("pingpong",), hosts=1),
)

COLUMNS = {
    "case": "case",
    "mpi": "MPI",
    "fabric": "fabric: up to × slower",
    "verdict": "tune",
    "changes": "changes by tune",
    "gain": "gain proved",
    "gain_ci95": "95 %",
    "runs": "runs",
    "elapsed_s": "s",
}


def main() -> int:
    """Run the cases whose libraries are installed."""
    parser = options("recreated", "Does tune cure what befalls users of clusters?")
    parser.add_argument("--budget", help="time budget of one tune (default 3m, quick 1m)")
    offer_choice(parser)
    return run("recreated", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure every case on its own cluster."""
    available = beds()
    cases = chosen(CASES, available, arguments)
    rows = [_row(case, available[case.mpi], arguments) for case in (cases[:1] if arguments.quick else cases)]
    cured = sum(row["verdict"] == "faster" for row in rows)
    return Result(COLUMNS, rows, f"{cured} of {len(rows)} cured and proved.")


def _row(case: Case, bed: Bed, arguments: Namespace) -> dict[str, Any]:
    tell(f"{case.name} under {bed.mpi.label} …")
    with _site(case, bed) as site:
        slower = None
        if case.hosts > 1:
            fabric = site.mpiric("fabric", "--rounds", "2")
            between = next(pair for pair in fabric["pairs"] if pair["class"] == "other node")
            slower = max(winner["gain"] for winner in between["winners"])
        tuned = site.mpiric("tune", "--budget", arguments.budget or ("1m" if arguments.quick else "3m"))
    return {
        "case": case.name,
        "mpi": bed.mpi.label,
        "fabric": slower,
        "verdict": tuned["verdict"],
        "changes": changes_of(tuned),
        "gain": tuned["ratio"],
        "gain_ci95": tuned["ratio_ci95"],
        "runs": tuned["runs"],
        "elapsed_s": round(tuned["elapsed_s"]),
        "command": tuned["command"],
    }


@dataclass(frozen=True)
class Site:
    """A running virtual cluster, and the directories of a user on it."""

    case: Case
    bed: Bed
    state: Path
    home: Path  # kept after the run for inspection

    def mpiric(self, *verb: str) -> dict[str, Any]:
        """Run a verb and return its JSON. Raises ProgramFailedError."""
        program, *arguments = self.case.program
        line = [sys.executable, "-m", "mpiric", *verb, "--json", "--", *self.case.launch]
        line += [self.bed.program(program), *arguments]
        inside = ["salloc", "--quiet", "--exclusive", "--nodes=1", *line] if self.case.slurm else line
        directories = {
            f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG")
        }
        environment = {**self.bed.environment, **self.case.environment, **directories}
        at_home = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(self.home), *inside]
        done = cluster.run(self.state, "n1", at_home, environment, timeout=_LIMIT_S)
        if done.returncode:
            raise ProgramFailedError(f"{' '.join(line[2:8])} …: {done.stderr[-400:]}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@contextmanager
def _site(case: Case, bed: Bed) -> Iterator[Site]:
    place = results_directory("recreated", case.name, bed)
    state, home = place / "cluster", place / "home"
    cluster.down(state)
    shutil.rmtree(place, ignore_errors=True)
    home.mkdir(parents=True)
    try:
        cluster.up(state, Plan(host_names(str(case.hosts)), networks=networks(case.networks)))
        if case.slurm:
            daemons.up(state, SlurmPlan())
    except LabError as error:
        raise MpiricError(error.message, hint=error.hint) from error
    try:
        yield Site(case, bed, state, home)
    finally:
        cluster.down(state)


if __name__ == "__main__":
    sys.exit(main())

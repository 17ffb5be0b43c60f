"""`mpiric sweep --site` in a Slurm allocation serves everybody's runs, with mpiric and without."""

import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment, ranks_printed, ranks_program
from tests.support.oversubscription import OVERSUBSCRIBED
from tests.support.slurm_lab import NEEDS, slurm_lab

from mpiric.host.facts.local import LocalHost
from mpiric.model.policy import Line, Policy, Span
from mpiric.tuning.policy_files import read_learned
from mpiric.workflows.policies import SHELL, export_policy

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
]
HOSTS = host_names("2")
MPIRIC = str(Path(sys.executable).parent / "mpiric")
LAUNCH = ("mpiexec", "-n", "4")


@pytest.fixture
def shared(tmp_path: Path):
    """A directory that every host sees, and `allocated(*words)`, which runs them in an allocation."""
    with slurm_lab(tmp_path, HOSTS) as lab:
        yield lab


def test_a_sweep_in_an_allocation_serves_everybodys_runs(shared, mpi_prefix, tmp_path: Path) -> None:
    out, site = tmp_path / "out", tmp_path / "site"
    variables = {"HOME": str(tmp_path), "MPIRIC_POLICIES": str(site), "UCX_NET_DEVICES": "fast0"}
    environment = mpi_environment(
        "mpich", mpi_prefix("mpich"), {**clean_environment(), **OVERSUBSCRIBED["mpich"], **variables}
    )
    program = str(ranks_program("mpich", mpi_prefix, shared))

    def allocated(*arguments: object) -> CompletedProcess[str]:
        line = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2", *map(str, arguments)]
        done = cluster.run(shared, "n1", line, environment, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    points = ("--collectives", "alltoall", "--sizes", "8", "--ranks", "4", "--per-node", "2", "--no-own")
    sweep = (MPIRIC, "sweep", *points, "--seconds", "0.002", "-o", out)
    assert "core-hours" in allocated(*sweep, "--dry-run", "--", *LAUNCH).stdout
    allocated(*sweep, "--site", "--", *LAUNCH)
    learned = read_learned(site / "mpich-5.policy.json")
    assert (learned.world.ranks, learned.world.nodes) == (4, 2)

    launched = allocated(MPIRIC, "run", "--", *LAUNCH, program)
    assert f"collectives follow the policy of this site, {site}/mpich-5.policy.json" in launched.stderr
    everybody = {(rank, 4) for rank in range(4)}
    assert {(rank, size) for rank, size, _ in ranks_printed(launched.stdout)} == everybody

    # Times decide which choices a sweep exports, if any: here the choice is given.
    chosen = Line("bcast", "library:binomial", ranks=Span(4, 4))
    policy = Policy(learned.implementation, learned.version, (chosen,))
    assert any(str(out / SHELL) in line for line in export_policy(learned, out, LocalHost(), policy))
    without = allocated("sh", "-c", f". {out / SHELL} && exec {' '.join(LAUNCH)} {program}")
    assert {(rank, size) for rank, size, _ in ranks_printed(without.stdout)} == everybody

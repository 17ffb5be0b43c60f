"""`mpiric fabric --submit` on real Slurm: a job for each type of node, each answer kept as a baseline."""

import json
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment, ranks_program
from tests.lab.slurm.config import SlurmPlan
from tests.support.slurm_lab import NEEDS

from mpiric.model.errors import ExitCode

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
    pytest.mark.sweep,
    pytest.mark.timeout(1200),
]
MPIRIC = str(Path(sys.executable).parent / "mpiric")
FEATURES = (("n1", "rome,ib"), ("n2", "rome,ib"), ("n3", "milan"), ("n4", "milan"))
HOSTS = host_names("4")
SLURM = SlurmPlan(features=FEATURES)
SRUN = ("srun", "--ntasks=2", "--nodes=2", "--mpi=pmi2")


@pytest.fixture
def login(lab, mpi_prefix):
    """Runs mpiric on n1 in a directory that every host sees."""
    home = lab.parent / "home"
    home.mkdir()
    program = str(ranks_program("mpich", mpi_prefix, lab))
    environment = mpi_environment("mpich", mpi_prefix("mpich"), {**clean_environment(), "HOME": str(home)})

    def run(*arguments, before=()):
        line = [*before, MPIRIC, *arguments, "--", *SRUN, program]
        inside = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(home), *line]
        return cluster.run(lab, "n1", inside, environment, timeout=900)

    return run


def test_each_type_of_node_is_measured_and_compared_with_later(login):
    done = login("fabric", "--submit", "--rounds", "1", "--json")
    assert done.returncode == 0, done.stderr
    types = {entry["features"]: entry for entry in json.loads(done.stdout)["node_types"]}
    assert set(types) == {"rome,ib", "milan"}
    for features, item in types.items():
        hosts = {name for name, variables in FEATURES if variables == features}
        assert item["nodes"] == 2
        assert set(item["answer"]["hosts"]) == hosts
        assert "other node" in {pair["class"] for pair in item["answer"]["pairs"]}
        assert len(item["answer"]["baseline_us"]["other node"]) >= 6

    stored = types["milan"]["kept"]
    again = login("history", "--against", stored, "--json", before=("salloc", "-N2", "-C", "milan"))
    assert again.returncode in (0, ExitCode.SLOWER), again.stderr
    assert "other node" in again.stdout

"""Short runs that end at a mark, over two hosts of a real Slurm: none of them has failed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan
from tests.support.slurm_lab import NEEDS

from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome
from mpiric.tuning.events import read_log

pytestmark = [pytest.mark.requires(*NEEDS), pytest.mark.requires("mpi:mpich", "libpmi2.so.0")]
HOSTS = host_names("2")
SLURM = SlurmPlan()
STEPS = Path(__file__).parent / "programs/steps.c"
MPIRIC = str(Path(sys.executable).parent / "mpiric")
RUNS = 50


def test_runs_of_ten_milliseconds_over_two_hosts_do_not_fail(lab, mpi_prefix):
    daemons.up(lab)
    program, work, store = lab.parent / "steps", lab.parent / "work", lab.parent / "store"
    work.mkdir()
    prefix = mpi_prefix("mpich")
    subprocess.run([prefix / "bin/mpicc", STEPS, "-o", program], check=True)
    options = ["--mark", "allreduce:2,6", "--max-runs", str(RUNS), "--budget", "10m", "--store", str(store)]
    line = ["srun", "--nodes=2", "--ntasks=2", "--mpi=pmi2", str(program)]
    command = [MPIRIC, "tune", "--json", "--try-all", "--only", "transport,binding", *options, "--", *line]
    environment = mpi_environment("mpich", prefix, clean_environment())
    done = cluster.run(lab, "n1", command, environment, timeout=600, cwd=work)
    assert done.returncode == 0, done.stderr
    tuned = json.loads(done.stdout)
    assert (tuned["scope"], tuned["interrupted"]) == ("steps", False)
    assert tuned["verdict"] in {verdict.value for verdict in Verdict}
    (log,) = store.glob("*/events.jsonl")
    trials = read_log(log).trials
    assert tuned["runs"] == len(trials)
    assert [trial.reason for trial in trials if trial.outcome is Outcome.FAILED] == []
    assert len([trial for trial in trials if trial.came_early]) >= RUNS // 2

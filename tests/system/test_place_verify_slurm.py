"""Jobs that real Slurm binds badly are caught while they run."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.support.slurm_lab import NEEDS, slurm_lab
from tests.support.spin import build_spin

pytestmark = pytest.mark.requires(*NEEDS, "several-cores")
MPIRIC = str(Path(sys.executable).parent / "mpiric")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    place = tmp_path_factory.mktemp("lab")
    build_spin(place)
    with slurm_lab(place, ("n1",)) as state:
        yield state


@pytest.fixture
def findings(lab):
    """Return the ids of findings of `place --verify` in a step of the whole host."""

    def finding_ids(threads, *srun):
        command = ["salloc", "--quiet", "--exclusive", "--nodes=1", MPIRIC, "place", "--verify"]
        command += ["--limit", "100", "--json", "--"]
        environment = {**clean_environment(), "HOME": str(lab.parent), "OMP_NUM_THREADS": str(threads)}
        line = [*command, "srun", *srun, str(lab.parent / "spin"), "2"]
        done = cluster.run(lab, "n1", line, environment, timeout=120)
        assert done.stdout, done.stderr
        return {finding["id"] for finding in json.loads(done.stdout)["findings"]}

    return finding_ids


def test_ranks_with_cores_of_their_own_are_found_to_be_fine(findings):
    assert findings(1, "-n", str(len(os.sched_getaffinity(0))), "-c", "1", "--cpu-bind=cores") == set()


def test_fewer_cpus_than_threads_are_caught(findings):
    assert "threads-stacked" in findings(2, "-n", "1", "-c", "1", "--cpu-bind=cores")


def test_masks_that_end_on_core_0_are_caught(findings):
    assert "ranks-overlap" in findings(1, "-n", "2", "-c", "1", "--cpu-bind=mask_cpu:0x1,0x1")


def test_steps_without_binding_are_caught(findings):
    assert "unbound-ranks" in findings(1, "-n", "2", "-c", "1", "--cpu-bind=none")

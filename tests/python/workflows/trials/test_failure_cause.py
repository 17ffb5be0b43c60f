from typing import ClassVar

import pytest
from tests.support.replay_host import Recording, ReplayHost
from tests.support.slurm_host import AWAY, SlurmHost

from mpiric.host.host import Completed
from mpiric.model.allocation import AllocatedHost, Allocation
from mpiric.schedulers import Patience, batch_scheduler
from mpiric.workflows.trials.failure_cause import (
    AllocationHosts,
    LocalMachine,
    LostAllocationError,
    failure_cause_of,
)

TWO = Allocation("slurm", "7", (AllocatedHost("n1", 2), AllocatedHost("n2", 2)))
FINE = Completed(0, "n1|allocated\nn2|mixed\n", "")
STARTED = Completed(0, "", "")
# By srun of Slurm 22.05, of a step on a host that had just lost its power.
UNREACHABLE = "srun: error: Task launch for StepId=7.4 failed on node n2: Communication connection failure\n"


class Clock:
    now = 0.0

    def sleep(self, seconds):
        self.now += seconds


class Host(SlurmHost):
    environ: ClassVar = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}


def excuse(answers, tmp_path, stderr=""):
    clock = Clock()
    (tmp_path / "stderr").write_text(stderr)
    patience = Patience(sleep=clock.sleep, clock=lambda: clock.now, controller_s=300)
    return AllocationHosts(batch_scheduler("slurm"), Host(answers), TWO, patience).excuse(tmp_path / "stderr")


def test_a_run_that_failed_on_hosts_that_stand_has_no_excuse(tmp_path):
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, "srun: error: n1: task 0: Killed") == ""


def test_a_host_that_slurm_calls_down_is_lost(tmp_path):
    with pytest.raises(LostAllocationError, match="lost n2"):
        excuse({"sinfo": [Completed(0, "n1|allocated\nn2|down*\n", "")]}, tmp_path)


def test_a_host_that_no_step_reaches_is_lost_before_slurm_knows(tmp_path):
    with pytest.raises(LostAllocationError, match="lost n2"):
        excuse({"sinfo": [FINE], "srun": [Completed(1, "", UNREACHABLE)]}, tmp_path)


def test_hosts_are_looked_at_when_the_controller_is_back(tmp_path):
    words = excuse({"sinfo": [AWAY, AWAY, AWAY, AWAY, FINE], "srun": [STARTED]}, tmp_path)
    assert "started no job steps for" in words


def test_a_step_that_srun_could_not_start_is_excused_in_its_words(tmp_path):
    said = "srun: error: Unable to confirm allocation for job 7: Unable to contact slurm controller"
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, f"noise\n{said}\n") == said


def test_outside_an_allocation_every_failure_counts(tmp_path):
    local = failure_cause_of(ReplayHost(Recording()))
    assert isinstance(local, LocalMachine)
    assert local.excuse(tmp_path / "stderr") == ""

from typing import ClassVar

import pytest
from tests.support.replay_host import Recording, ReplayHost
from tests.support.slurm_host import AWAY, SlurmHost

from mpiric.host.host import TIMED_OUT, Completed
from mpiric.lab.failures import (
    AllocationHosts,
    LostAllocationError,
    allocation_hosts,
)
from mpiric.model.batch import AllocatedHost, Allocation
from mpiric.schedulers import Patience, batch_scheduler

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


def excuse(answers, tmp_path, stderr="", commands=None, environ=None):
    clock = Clock()
    (tmp_path / "stderr").write_text(stderr)
    patience = Patience(sleep=clock.sleep, clock=lambda: clock.now, controller_s=300)
    host = Host(answers, commands if commands is not None else [])
    host.environ = environ or Host.environ
    return AllocationHosts(batch_scheduler("slurm"), host, TWO, patience).excuse(tmp_path / "stderr")


def test_a_failure_on_working_hosts_is_not_excused(tmp_path):
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, "srun: error: n1: task 0: Killed") == ""


def test_a_host_that_slurm_calls_down_is_lost(tmp_path):
    with pytest.raises(LostAllocationError, match="lost n2"):
        excuse({"sinfo": [Completed(0, "n1|allocated\nn2|down*\n", "")]}, tmp_path)


def test_a_host_that_no_step_reaches_is_lost_before_slurm_knows(tmp_path):
    with pytest.raises(LostAllocationError, match="lost n2"):
        excuse({"sinfo": [FINE], "srun": [Completed(1, "", UNREACHABLE)]}, tmp_path)


def test_hosts_are_looked_at_when_the_controller_is_back(tmp_path):
    sentence = excuse({"sinfo": [AWAY, AWAY, AWAY, AWAY, FINE], "srun": [STARTED]}, tmp_path)
    assert "started no job steps for" in sentence


def test_a_step_that_srun_could_not_start_is_excused_in_its_words(tmp_path):
    stderr = "srun: error: Unable to confirm allocation for job 7: Unable to contact slurm controller"
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, f"noise\n{stderr}\n") == stderr


def test_outside_an_allocation_every_failure_counts():
    assert allocation_hosts(ReplayHost(Recording())) is None


@pytest.mark.parametrize(
    "line",
    [
        "srun: error: Unable to create step for job 7: Job/step already completing or completed",
        "srun: Cancelled pending job step with signal 15",
        "srun: Job 7 step creation still disabled, retrying (Requested nodes are busy)",
        "srun: Job step creation temporarily disabled, retrying",
    ],
)
def test_a_step_that_was_never_started_is_an_interruption(line, tmp_path):
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, f"{line}\n") == line


@pytest.mark.parametrize(
    "stderr",
    [
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
        "srun: Job 7 step creation temporarily disabled, retrying (busy)\nsrun: Step created for job 7",
    ],
)
def test_a_step_that_its_own_options_forbid_or_that_ran_has_no_excuse(stderr, tmp_path):
    assert excuse({"sinfo": [FINE], "srun": [STARTED]}, tmp_path, stderr) == ""


LATE = Completed(TIMED_OUT, "", "")


def test_a_stuck_step_of_an_earlier_run_is_cancelled(tmp_path):
    steps = [Completed(0, "7.batch\n7.0\n7.2\n", ""), Completed(0, "7.batch\n7.0\n7.2\n7.5\n", "")]
    commands = []
    answers = {"sinfo": [FINE], "srun": [LATE, STARTED], "squeue": steps, "scancel": [STARTED]}
    environ = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "4294967290"}
    assert "before 7.5 was cancelled" in excuse(answers, tmp_path, commands=commands, environ=environ)
    assert [argv[-1] for argv in commands if argv[0] == "scancel"] == ["7.5", "7.5"]
    assert not any("--overlap" in argv for argv in commands)


def test_an_allocation_in_which_no_step_starts_is_given_up(tmp_path):
    with pytest.raises(LostAllocationError, match="lost n1 and n2"):
        excuse({"sinfo": [FINE], "srun": [LATE], "squeue": [Completed(0, "", "")]}, tmp_path)

import pytest
from tests.support.slurm_host import text

from mpiric.model.batch import NodeShape, Stage
from mpiric.schedulers.slurm import _output as output


def test_every_line_of_the_queue_is_a_job():
    assert set(output.queue(text("slurm-squeue.txt"))) == {"1", "2", "3", "4", "5_0", "5_1", "5_2", "6"}


def test_a_running_job_has_its_hosts():
    assert output.queue(text("slurm-squeue.txt"))["3"].hosts == ("n1", "n2", "n3", "n4")


def test_a_waiting_job_reports_its_reason():
    waiting = output.queue(text("slurm-squeue.txt"))["5_0"]
    assert (waiting.stage, waiting.reason) == (Stage.WAITING, "Resources")


def test_the_exit_status_of_a_failed_job_is_its_scripts():
    assert output.job_details(text("slurm-job-failed.txt")).exit_status == 3


def test_a_running_job_has_no_exit_status_yet():
    assert output.job_details(text("slurm-job-running.txt")).exit_status is None


def test_a_requeued_job_waits_and_counts_its_restarts():
    job = output.job_details(text("slurm-job-requeued.txt"))
    assert (job.stage, job.restarts) == (Stage.WAITING, 1)


def test_a_script_ended_by_a_signal_has_the_status_a_shell_would_give():
    assert output.job_details("JobId=8 JobState=CANCELLED Reason=None ExitCode=0:15").exit_status == 143


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        ("PENDING", Stage.WAITING),
        ("REQUEUED", Stage.WAITING),
        ("RUNNING", Stage.RUNNING),
        ("COMPLETING", Stage.ENDING),
        ("NODE_FAIL", Stage.ENDED),
        ("CANCELLED", Stage.ENDED),
        ("OUT_OF_MEMORY", Stage.ENDED),
    ],
)
def test_states_are_stages(word, stage):
    assert output.queue(f"7|{word}|None|n1")["7"].stage is stage


def test_an_accepted_script_tells_when_it_would_start():
    printed = (
        "sbatch: Job 1 to start at 2026-11-21T08:43:31 using 8 processors on nodes n[1-4] in partition p\n"
    )
    checked = output.tested(0, printed)
    assert checked.accepted
    assert checked.message.startswith("Job 1 to start")


def test_a_refused_script_has_slurms_reason():
    printed = "sbatch: error: invalid partition specified: x\nallocation failure: Invalid partition name\n"
    checked = output.tested(1, printed)
    assert not checked.accepted
    assert checked.message == "invalid partition specified: x; allocation failure: Invalid partition name"


def test_the_most_frequent_node_comes_first():
    assert output.node_shapes("4|1|2|1\n1344|2|64|2\n") == (NodeShape(2, 64, 2), NodeShape(1, 2, 1))

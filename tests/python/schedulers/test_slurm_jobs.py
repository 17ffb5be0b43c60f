import pytest
from tests.support.slurm_host import AWAY, UNKNOWN, SlurmHost, Time, text

from mpiric.host.host import Completed
from mpiric.model.batch import Stage
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.schedulers import JobRequest, Patience, SubmitSettings, batch_scheduler

SLURM = batch_scheduler("slurm")


@pytest.fixture
def patience():
    time = Time()
    return Patience(sleep=time.sleep, clock=lambda: time.now, controller_s=300)


def ok(stdout):
    return Completed(0, stdout, "")


def line(word, hosts="n1", job="7"):
    return ok(f"{job}|{word}|None|{hosts}\n")


def details(word, restarts=0, code="0:0"):
    return ok(f"JobId=7 JobState={word} Reason=None Restarts={restarts} ExitCode={code} NodeList=n1\n")


def test_a_submitted_job_has_slurms_id(patience):
    assert SLURM.submit(SlurmHost({"sbatch": [ok("7\n")]}), "job.sh", SubmitSettings(), patience) == "7"


def test_submitting_waits_for_a_controller_that_is_restarted(patience):
    host = SlurmHost({"sbatch": [AWAY, AWAY, ok("7\n")]})
    assert SLURM.submit(host, "job.sh", SubmitSettings(), patience) == "7"


def test_a_job_whose_submission_got_no_answer_is_not_submitted_twice(patience):
    lost = Completed(
        1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    )
    host = SlurmHost({"sbatch": [lost], "squeue": [ok("6|other\n7|mine\n")]})
    assert SLURM.submit(host, "job.sh", SubmitSettings(mark="mine"), patience) == "7"
    assert sum(argv[0] == "sbatch" for argv in host.commands) == 1


def test_a_refused_job_is_an_error_in_slurms_words(patience):
    refused = Completed(1, "", "sbatch: error: invalid partition specified: x\n")
    with pytest.raises(MpiricError, match="invalid partition specified: x"):
        SLURM.submit(SlurmHost({"sbatch": [refused]}), "job.sh", SubmitSettings(), patience)


def test_without_slurm_there_is_an_error_and_no_waiting(patience):
    with pytest.raises(NotFoundError, match="sbatch"):
        SLURM.submit(SlurmHost({}), "job.sh", SubmitSettings(), patience)


def test_a_controller_that_stays_away_ends_the_patience(patience):
    with pytest.raises(NotFoundError, match="5 minutes"):
        SLURM.look(SlurmHost({"squeue": [AWAY]}), ["7"], patience)


def test_a_job_that_slurm_does_not_know_any_more_is_forgotten(patience):
    assert SLURM.look(SlurmHost({"squeue": [UNKNOWN]}), ["7"], patience)["7"].stage is Stage.FORGOTTEN


def test_following_tells_each_change_once(patience):
    host = SlurmHost(
        {
            "squeue": [line("PENDING", ""), line("PENDING", ""), line("RUNNING"), line("COMPLETED")],
            "scontrol": [details("PENDING"), details("RUNNING"), details("COMPLETED")],
        }
    )
    states = [job.state for job in SLURM.follow(host, ["7"], patience)]
    assert states == ["PENDING", "RUNNING", "COMPLETED"]


def test_a_job_begun_again_after_a_node_went_down_is_followed_to_its_end(patience):
    host = SlurmHost(
        {
            "squeue": [line("RUNNING"), AWAY, line("PENDING", ""), line("RUNNING"), line("COMPLETED")],
            "scontrol": [
                details("RUNNING"),
                details("PENDING", 1),
                details("RUNNING", 1),
                details("COMPLETED", 1),
            ],
        }
    )
    last = list(SLURM.follow(host, ["7"], patience))[-1]
    assert (last.succeeded, last.restarts) == (True, 1)


def test_a_failed_job_ends_with_its_status(patience):
    host = SlurmHost({"squeue": [line("FAILED")], "scontrol": [ok(text("slurm-job-failed.txt"))]})
    assert list(SLURM.follow(host, ["7"], patience))[-1].exit_status == 3


def test_a_cancelled_job_has_not_succeeded(patience):
    host = SlurmHost({"squeue": [line("CANCELLED")], "scontrol": [details("CANCELLED")]})
    assert not list(SLURM.follow(host, ["7"], patience))[-1].succeeded


def test_several_jobs_are_followed_until_the_last_is_over(patience):
    both = ok("7|RUNNING|None|n1\n8|COMPLETED|None|n2\n")
    host = SlurmHost(
        {
            "squeue": [both, line("COMPLETED")],
            "scontrol": [details("RUNNING"), details("COMPLETED"), details("COMPLETED")],
        }
    )
    assert [(job.job, job.state) for job in SLURM.follow(host, ["7", "8"], patience)] == [
        ("7", "RUNNING"),
        ("8", "COMPLETED"),
        ("7", "COMPLETED"),
    ]


def test_pauses_between_questions_grow_to_a_limit():
    time, pauses = Time(), []

    def sleep(seconds):
        pauses.append(seconds)
        time.sleep(seconds)

    host = SlurmHost(
        {"squeue": [*[line("RUNNING")] * 12, line("COMPLETED")], "scontrol": [details("RUNNING")]}
    )
    host.answers["scontrol"].append(details("COMPLETED"))
    list(SLURM.follow(host, ["7"], Patience(sleep=sleep, clock=lambda: time.now)))
    assert max(pauses) == 15.0


def test_the_default_partition_is_the_one_with_a_star():
    host = SlurmHost({"sinfo": [ok("debug*|4|1|2|1\nbetzy|1344|2|64|2\n")]})
    assert SLURM.node_shapes(host)[0].cores == 2


def test_types_of_node_are_distinguished_by_their_features():
    lines = "batch*|2|milan,hdr\nbatch*|1|milan,hdr\nbatch*|4|(null)\nother|9|old\n"
    assert SLURM.node_types(SlurmHost({"sinfo": [ok(lines)]})) == {"milan,hdr": 3, "": 4}
    assert SLURM.node_types(SlurmHost({"sinfo": [ok("other|9|old\n")]}), "other") == {"old": 9}


def test_no_check_is_made_where_sbatch_has_no_cluster():
    no_cluster = Completed(1, "", "sbatch: fatal: Could not establish a configuration source\n")
    assert SLURM.check(SlurmHost({"sbatch": [no_cluster]}), "job.sh") is None


def test_the_expected_start_of_a_job_with_partition_and_account_of_this_job():
    answer = Completed(
        0, "", "sbatch: Job 9 to start at 2026-11-21T08:43:31 using 4 processors on nodes n1\n"
    )
    host = SlurmHost(
        {"sbatch": [answer]}, environ={"SLURM_JOB_PARTITION": "short", "SLURM_JOB_ACCOUNT": "p1"}
    )
    assert SLURM.expected_start(host, JobRequest(nodes=2, ranks=8)) == "2026-11-21T08:43:31"
    assert {"--partition=short", "--account=p1", "--nodes=2", "--ntasks=8"} <= set(host.commands[0])


def test_no_start_is_expected_of_a_job_that_slurm_refuses():
    refused = Completed(1, "", "allocation failure: More processors requested than permitted\n")
    assert SLURM.expected_start(SlurmHost({"sbatch": [refused]}), JobRequest(nodes=900)) == ""

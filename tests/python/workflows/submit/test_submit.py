import pytest
from tests.support.slurm_host import AWAY, SlurmHost, patience

from mpiric.host.host import Completed
from mpiric.model.errors import MpiricError
from mpiric.workflows.submit.follower import Reporting
from mpiric.workflows.submit.submission import SubmitRequest
from mpiric.workflows.submit.submit import submit


class Cluster(SlurmHost):
    """Cluster whose jobs end as scripted; the last one has written the result of the verb."""

    python = "/usr/bin/python3"

    def __init__(self, place, *ends, status="0"):
        self.place, self.ends, self.status, self.submitted = place, list(ends), status, 0
        super().__init__({})

    def read_text(self, path):
        return None

    def run(self, argv, **_):
        self.commands.append(tuple(argv))
        if argv[0] == "sbatch":
            self.submitted += 1
            return Completed(0, f"{self.submitted}\n", "")
        word = self.ends[self.submitted - 1]
        if word == "away":
            self.ends[self.submitted - 1] = "COMPLETED"
            return AWAY
        if word == "COMPLETED":
            (self.place / "job.out").write_text("the result\n")
            (self.place / "job.status").write_text(self.status)
        if argv[0] == "squeue":
            return Completed(0, f"{self.submitted}|{word}|None|n1\n", "")
        return Completed(0, f"JobId=1 JobState={word} Restarts=0 ExitCode=0:0 NodeList=n1\n", "")


@pytest.fixture
def run(tmp_path):
    def run(*ends, **more):
        cluster = Cluster(tmp_path, *ends, **more)
        request = SubmitRequest(
            tmp_path,
            ("tune",),
            ("srun", "./app"),
            "/",
            {},
            options=("--nodes=4",),
            go_on="mpiric tune --submit --resume -- srun ./app",
        )
        messages = []
        ended = submit(request, cluster, Reporting(messages.append, messages.append, patience()))
        return ended, cluster, messages

    return run


def test_the_verbs_output_and_status_are_those_of_its_job(run):
    ended, _, _ = run("COMPLETED", status="123")
    assert (ended.status, ended.output, ended.jobs) == (123, "the result\n", ("1",))


@pytest.mark.parametrize("word", ["NODE_FAIL", "TIMEOUT", "PREEMPTED", "BOOT_FAIL"])
def test_a_job_that_slurm_ended_is_submitted_again(run, word):
    ended, _, messages = run(word, "COMPLETED")
    assert ended.jobs == ("1", "2")
    assert f"job 1 ended early ({word}): submitting it again" in messages


def test_the_controller_may_be_away_meanwhile(run):
    assert run("away")[0].status == 0


def test_jobs_that_measure_nothing_are_not_submitted_for_ever(run):
    with pytest.raises(MpiricError, match="jobs in a row ended without a result, the last with TIMEOUT"):
        run(*["TIMEOUT"] * 9)


def test_a_cancelled_job_is_not_submitted_again_unasked(run):
    with pytest.raises(MpiricError, match="job 1 was cancelled") as raised:
        run("CANCELLED", "COMPLETED")
    assert raised.value.hint == "continue with: mpiric tune --submit --resume -- srun ./app"


def test_a_job_that_has_ended_meanwhile_is_reported_without_a_new_job(run):
    run("COMPLETED")
    ended, cluster, _ = run("COMPLETED")
    assert (ended.output, cluster.submitted) == ("the result\n", 0)


def test_the_script_keeps_the_input(tmp_path):
    (tmp_path / "in").write_text("42\n")
    request = SubmitRequest(tmp_path, ("tune",), ("./app",), "/", {}, stdin=str(tmp_path / "in"))
    submit(
        request,
        Cluster(tmp_path, "COMPLETED"),
        Reporting(len, len, patience()),
    )
    (tmp_path / "in").unlink()
    assert (tmp_path / "job.in").read_text() == "42\n"
    assert f"< {tmp_path / 'job.in'} >" in (tmp_path / "job.sh").read_text()

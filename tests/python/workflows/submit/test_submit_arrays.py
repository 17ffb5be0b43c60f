"""Following arrays of jobs that submit one another, over a Slurm that is made up."""

import pytest
from tests.support.slurm_host import SlurmHost, patience

from mpiric.host.host import Completed
from mpiric.model.batch import Spread
from mpiric.model.errors import MpiricError
from mpiric.workflows.submit.array_rounds import latest, submit_round
from mpiric.workflows.submit.follower import Reporting
from mpiric.workflows.submit.submission import SubmitRequest
from mpiric.workflows.submit.submit import submit

SPREAD = Spread(3, 2)


class Cluster(SlurmHost):
    """Runs a job when somebody asks for it: round 0 plans round 1, whose last element ends the verb."""

    python = "/usr/bin/python3"

    def __init__(self, place, ends="COMPLETED", from_nodes=True):
        super().__init__({})
        self.place, self.ends, self.from_nodes = place, ends, from_nodes
        self.submitted, self.run_before = 0, set()

    def read_text(self, path):
        return None

    def run(self, argv, **_):
        self.commands.append(tuple(argv))
        if argv[0] == "sbatch":
            self.submitted += 1
            return Completed(0, f"{self.submitted}\n", "")
        if argv[0] == "squeue":
            option = next((word for word in argv if word.startswith("--jobs=")), "--jobs=")
            names = [name for name in option.removeprefix("--jobs=").split(",") if name]
            return Completed(0, "".join(f"{name}|{self.word(name)}|None|n1\n" for name in names), "")
        if argv[:3] == ["scontrol", "--oneliner", "show"]:
            line = f"JobState={self.word(argv[-1])} Restarts=0 ExitCode=0:0 NodeList=n1"
            return Completed(0, f"JobId=1 {line}\n", "")
        return Completed(0, "", "")

    def word(self, name):
        if name in self.run_before:
            return self.ends if "_" in name else "COMPLETED"
        self.run_before.add(name)
        array_round = latest(self.place)
        if not array_round.number:
            array_round.next.plan([()] * SPREAD.jobs)
            if self.from_nodes:
                submit_round(array_round.next, SPREAD, self, array_round.tell, patience())
        elif name.endswith("_2") and self.ends == "COMPLETED":
            (self.place / "job.out").write_text("the result\n")
            (self.place / "job.status").write_text("0\n")
        return "RUNNING"


@pytest.fixture
def run(tmp_path):
    def run(**more):
        cluster = Cluster(tmp_path, **more)
        request = SubmitRequest(
            tmp_path,
            ("tune",),
            ("srun", "./app"),
            "/",
            {},
            budget_s=36000.0,
            go_on="mpiric tune --submit --array 3 --resume -- srun ./app",
            spread=SPREAD,
        )
        messages = []
        ended = submit(request, cluster, Reporting(messages.append, messages.append, patience()))
        return ended, cluster, messages

    return run


def test_arrays_that_jobs_submit_are_followed_to_the_end(run):
    ended, cluster, messages = run()
    assert (ended.status, ended.output) == (0, "the result\n")
    assert ended.jobs == ("1", "2_0", "2_1", "2_2", "3")
    assert cluster.submitted == 3
    assert "array 2: 3 of 3 jobs have ended, 0 run" in messages
    assert any("round 1: 3 jobs submitted as array 2" in line for line in messages)


def test_the_jobs_ask_for_the_time_of_a_slice(run, tmp_path):
    run()
    assert "#SBATCH --time=34" in (tmp_path / "job.sh").read_text()


def test_a_round_that_no_node_may_submit_is_submitted_by_who_follows(run):
    ended, cluster, _ = run(from_nodes=False)
    assert ended.output == "the result\n"
    assert [word for line in cluster.commands for word in line if word.startswith("--array=")] == [
        "--array=0-2%2"
    ]


def test_a_cancelled_array_is_not_submitted_again_unasked(run):
    with pytest.raises(MpiricError, match="was cancelled") as raised:
        run(ends="CANCELLED")
    assert "--array 3 --resume" in raised.value.hint


def test_arrays_that_measure_nothing_are_not_submitted_for_ever(run):
    with pytest.raises(MpiricError, match="jobs in a row ended without a result"):
        run(ends="TIMEOUT")

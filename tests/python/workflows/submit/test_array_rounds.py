import subprocess

import pytest
from tests.support.slurm_host import SlurmHost

from mpiric.host.host import Completed
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Phase, Run
from mpiric.schedulers import Submission, batch_scheduler, element_of, round_script
from mpiric.workflows.submit.array_rounds import (
    ArrayRound,
    drop_after,
    is_double,
    known_jobs,
    latest,
    submit_round,
    was_cancelled,
)

RUN = Run(Configuration.of({"pages": "huge"}), Phase.SEARCH, limit_s=3.5)
NOTHING = Completed(0, "", "")


class Slurm(SlurmHost):
    """Takes what is submitted; arrays only up to a size."""

    def __init__(self, largest=1000, queue="", **answers):
        super().__init__(answers)
        self.largest, self.queue, self.taken = largest, queue, 0

    def run(self, argv, **_):
        self.commands.append(tuple(argv))
        if argv[0] == "scontrol":
            return Completed(0, "MaxArraySize            = 1001\n", "")
        if argv[0] == "squeue":
            return Completed(0, self.queue, "")
        if argv[0] != "sbatch":
            return NOTHING
        sizes = [int(word.partition("-")[2].partition("%")[0]) + 1 for word in options(argv, "--array=")]
        if any(size > self.largest for size in sizes):
            return Completed(1, "", "sbatch: error: QOSMaxSubmitJobPerUserLimit\n")
        self.taken += 1
        return Completed(0, f"{self.taken}\n", "")

    @property
    def submitted(self):
        return [argv for argv in self.commands if argv[0] == "sbatch"]


def options(argv, name):
    return [word.removeprefix(name) for word in argv if word.startswith(name)]


def planned(place, count, runs=2):
    array_round = ArrayRound(place, 1)
    array_round.plan([[RUN] * runs] * count)
    return array_round


def test_a_plan_comes_back_as_it_was(tmp_path):
    run = Run(Configuration(), Phase.PROOF, pair=7)
    ArrayRound(tmp_path, 2).plan([[RUN], [run, run]])
    assert ArrayRound(tmp_path, 2).block(1) == (run, run)
    assert ArrayRound(tmp_path, 2).block(0) == (RUN,)


def test_a_round_is_complete_when_each_element_is(tmp_path):
    array_round = planned(tmp_path, 2)
    array_round.finish(1)
    assert not array_round.is_complete
    array_round.finish(0)
    assert array_round.is_complete


def test_rounds_are_found_again(tmp_path):
    assert latest(tmp_path).number == 0
    planned(tmp_path, 2).next.plan([[RUN]])
    assert latest(tmp_path) == ArrayRound(tmp_path, 2)


def test_an_array_and_the_job_after_it_are_submitted(tmp_path):
    host = Slurm()
    array_round = planned(tmp_path, 8)
    submit_round(array_round, Spread(8, 3), host, str)
    array, after = host.submitted
    assert options(array, "--array=") == ["0-7%3"]
    assert array[-1] == str(tmp_path / "job.sh")
    assert options(after, "--dependency=") == ["singleton,afterany:1"]
    assert known_jobs(tmp_path) == (*(f"1_{element}" for element in range(8)), "2")
    assert array_round.is_submitted


def test_a_round_is_submitted_once(tmp_path):
    array_round = planned(tmp_path, 2)
    submit_round(array_round, Spread(2), Slurm(), str)
    again = Slurm()
    submit_round(array_round, Spread(2), again, str)
    assert [options(argv, "--array=") for argv in again.submitted] == [[]]


def test_an_array_whose_submission_was_not_noted_is_found_again(tmp_path):
    """Whoever submitted it died before writing its number down."""
    host = Slurm(queue=f"40_[0-1]|mpiric-{tmp_path.name}-1\n")
    submit_round(planned(tmp_path, 2), Spread(2), host, str)
    assert known_jobs(tmp_path)[:2] == ("40_0", "40_1")
    assert all(not options(argv, "--array=") for argv in host.submitted)


def test_fewer_jobs_where_slurm_takes_no_more(tmp_path):
    messages = []
    array_round = planned(tmp_path, 8)
    submit_round(array_round, Spread(8), Slurm(largest=3), messages.append)
    assert array_round.size == 2
    assert [len(array_round.block(element)) for element in range(2)] == [8, 8]
    assert messages[:2] == [
        "Slurm takes no array of 8 jobs here: fewer",
        "Slurm takes no array of 4 jobs here: fewer",
    ]


def test_an_array_that_slurm_refuses_altogether_is_an_error(tmp_path):
    with pytest.raises(MpiricError, match="QOSMaxSubmitJobPerUserLimit"):
        submit_round(planned(tmp_path, 4), Spread(4), Slurm(largest=0), str)
    assert known_jobs(tmp_path) == ()


def test_the_job_after_is_dropped_once_an_element_has_done_its_work(tmp_path):
    host = Slurm()
    array_round = planned(tmp_path, 2)
    submit_round(array_round, Spread(2), host, str)
    drop_after(array_round, host)
    assert host.commands[-1] == ("scancel", "2")


@pytest.mark.parametrize(("argv", "finished", "cancelled"), [
    (("CANCELLED", "CANCELLED"), (), True),
    (("CANCELLED", "COMPLETED"), (1,), True),
    (("CANCELLED", "CANCELLED"), (0, 1), False),  # too late: both had done their work
    (("TIMEOUT", "NODE_FAIL"), (), False),
])  # fmt: skip
def test_an_array_that_somebody_cancelled_is_distinguished_from_one_that_failed(
    tmp_path, argv, finished, cancelled
):
    host = Slurm()
    array_round = planned(tmp_path, 2)
    submit_round(array_round, Spread(2), host, str)
    for element in finished:
        array_round.finish(element)
    host.queue = "".join(f"1_{at}|{word}|None|n1\n" for at, word in enumerate(argv))
    host.environ = {"SLURM_JOB_ID": "2"}
    assert was_cancelled(array_round, host) is cancelled
    host.environ = {"SLURM_JOB_ID": "3"}  # submitted later, to go on
    assert not was_cancelled(array_round, host)


def test_of_two_arrays_for_one_round_one_counts(tmp_path):
    """Two who follow may submit it at the same moment."""
    host = Slurm()
    array_round = planned(tmp_path, 2)
    submit_round(array_round, Spread(2), host, str)
    host.environ = {"SLURM_ARRAY_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "0", "MPIRIC_ELEMENT": "0"}
    assert not is_double(array_round, host)
    host.environ = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "0", "MPIRIC_ELEMENT": "0"}
    assert is_double(array_round, host)


def test_a_process_knows_its_element():
    assert element_of({}) is None
    assert element_of({"MPIRIC_ELEMENT": "12"}) == 12


@pytest.fixture
def script(tmp_path):
    """Runs a round's script whose verb prints and ends as told; its exit status."""
    place = tmp_path / "a tune"
    (place / "rounds/3").mkdir(parents=True)

    def run(status, element=None):
        (tmp_path / "verb").write_text(f'echo "$*" "$MPIRIC_SUBMISSION"; exit {status}\n')
        argv = ("sh", str(tmp_path / "verb"), "tune", "--into", str(place), "--", "./a b")
        text = round_script(batch_scheduler("slurm"), Submission(place, argv, str(tmp_path)))
        variables = {"MPIRIC_ROUND": "3"}
        if element is not None:
            variables["SLURM_ARRAY_TASK_ID"] = str(element)
        done = subprocess.run(["sh"], input=text, text=True, env=variables, check=False)
        return done.returncode

    run.place = place
    return run


def test_a_job_that_has_done_its_part_is_not_the_end(script):
    assert script(75, element=4) == 0
    assert not (script.place / "job.status").exists()


def test_who_ends_it_gives_output_and_status(script):
    assert script(0, element=4) == 0
    assert (script.place / "job.status").read_text() == "0\n"
    output = (script.place / "job.out").read_text()
    assert output == f"tune --round 3 --into {script.place} -- ./a b mpiric-a tune-3-4.\n"
    assert script(1) == 0  # it is over: nothing is begun


def test_the_failure_of_one_element_is_not_the_end(script):
    assert script(121, element=4) == 121
    assert not (script.place / "job.status").exists()


def test_the_failure_of_the_job_after_them_is(script):
    assert script(123) == 123
    assert (script.place / "job.status").read_text() == "123\n"


@pytest.mark.parametrize("status", [130, 137, 143])
def test_a_job_that_was_ended_is_not_the_end(script, status):
    assert script(status) == status
    assert not (script.place / "job.status").exists()

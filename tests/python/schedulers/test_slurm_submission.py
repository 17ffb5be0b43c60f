from pathlib import PurePath

import pytest

from mpiric.launchers import parse_command
from mpiric.schedulers import Submission, batch_scheduler, job_settings, request_of, submission_script

SLURM = batch_scheduler("slurm")

SUBMISSION = Submission(
    PurePath("/home/ada/tunes/20261121-app"), ("python", "mpiric/__main__.py", "tune"), "/home/ada/a b"
)


def resources(line, *options, minutes=30):
    job = parse_command(line.split(), "", {}, dialect="openmpi5")
    return SLURM.override(SLURM.options(request_of(job, SLURM, minutes)), options)


def test_a_job_is_named_after_its_directory_and_runs_in_its_own():
    settings = job_settings(SUBMISSION.directory, "mark")
    assert "--job-name=mpiric-20261121-app" in SLURM.submission("job.sh", settings)
    assert "\ncd '/home/ada/a b' || exit 143\n" in submission_script(SLURM, SUBMISSION)


def test_jobs_of_a_submission_run_one_at_a_time():
    settings = job_settings(SUBMISSION.directory, "mark")
    assert "--dependency=singleton" in SLURM.submission("job.sh", settings)


def test_the_users_options_come_last():
    script = submission_script(
        SLURM, Submission(PurePath("/t"), ("x",), "/", options=("--nodes=4", "-C fast"))
    )
    directives = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert directives[-2:] == ["#SBATCH --nodes=4", "#SBATCH -C fast"]


def test_nodes_and_ranks_follow_from_srun():
    assert resources("srun -N 4 -n 512 --cpus-per-task=2 ./app") == (
        "--time=30",
        "--nodes=4",
        "--ntasks=512",
        "--cpus-per-task=2",
        "--exclusive",
    )


def test_ranks_of_all_programs_of_a_launch_count():
    assert "--ntasks=12" in resources("mpirun -n 8 ./a : -n 4 ./b")


@pytest.mark.parametrize("option", ["-N 2", "-N2", "--nodes=2", "--nodes 2"])
def test_options_of_the_user_replace_values_of_the_line(option):
    request = resources("srun -N 4 -n 8 ./app", option, "-t 5")
    assert request == ("--ntasks=8", "--exclusive", option, "-t 5")


@pytest.mark.parametrize(
    ("option", "field"), [("-N4", "nodes"), ("--time=5", "time"), ("-p normal", "partition")]
)
def test_short_and_long_options_are_the_same(option, field):
    assert SLURM.key(option) == {field}

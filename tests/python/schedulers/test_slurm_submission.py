from pathlib import PurePath

import pytest

from mpiric.launchers import parse_command
from mpiric.schedulers._slurm_submission import Submission, names_of, resources_of, submission_script

SUBMISSION = Submission(
    PurePath("/home/ada/tunes/20261121-app"), ("python", "-m", "mpiric", "tune"), "/home/ada/a b"
)


def resources(line, *given, minutes=30):
    return resources_of(parse_command(line.split(), "", {}, dialect="openmpi5"), given, minutes)


def test_the_job_is_named_after_its_directory_and_one_of_a_name_runs_at_a_time():
    script = submission_script(SUBMISSION)
    assert "#SBATCH --job-name=mpiric-20261121-app\n#SBATCH --chdir='/home/ada/a b'\n" in script
    assert "#SBATCH --dependency=singleton\n" in script


def test_the_users_options_come_last():
    script = submission_script(Submission(PurePath("/t"), ("x",), "/", options=("--nodes=4", "-C fast")))
    directives = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert directives[-2:] == ["#SBATCH --nodes=4", "#SBATCH -C fast"]


def test_nodes_and_ranks_follow_from_srun():
    assert resources("srun -N 4 -n 512 --cpus-per-task=2 ./app") == (
        "--nodes=4",
        "--ntasks=512",
        "--cpus-per-task=2",
        "--exclusive",
        "--time=30",
    )


def test_ranks_of_all_programs_of_a_launch_count():
    assert "--ntasks=12" in resources("mpirun -n 8 ./a : -n 4 ./b")


@pytest.mark.parametrize("own", ["-N 2", "-N2", "--nodes=2", "--nodes 2"])
def test_what_the_user_says_replaces_what_the_line_says(own):
    wanted = resources("srun -N 4 -n 8 ./app", own, "-t 5")
    assert wanted == ("--ntasks=8", "--exclusive", own, "-t 5")


def test_options_are_known_by_their_long_names():
    assert names_of(["-N4", "--time=5", "-p normal"]) == {"--nodes", "--time", "--partition"}

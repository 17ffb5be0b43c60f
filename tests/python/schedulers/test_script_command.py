"""`mpiric script` as a user calls it; Slurm is made to be absent."""

import json

import pytest


@pytest.fixture
def script(run_mpiric):
    """`script(options…)` writes a script for Betzy's nodes, without asking Slurm."""
    return lambda *words, **more: run_mpiric("script", "--node", "2x64x2", "--no-check", *words, **more)


def test_a_program_gets_an_srun_line(script):
    assert script("--", "./app", "in.nml").stdout.splitlines()[-1].endswith(" ./app in.nml")


def test_a_users_own_launch_line_stays_as_it_is(script):
    assert script("--", "mpirun", "-n", "256", "./app").stdout.splitlines()[-1] == "mpirun -n 256 ./app"


def test_the_ranks_of_a_launch_line_decide_the_nodes(script):
    done = script("--json", "--", "mpirun", "-n", "256", "./app")
    assert json.loads(done.stdout)["layout"]["nodes"] == 2


def test_the_job_has_the_programs_name(script):
    assert "--job-name=app" in script("--", "srun", "./build/app").stdout


def test_the_json_holds_the_script_and_its_lines(script):
    written = json.loads(script("--json", "--", "./app").stdout)
    assert all(line["text"] in written["script"] for line in written["lines"])


def test_a_file_is_written_that_can_be_run(script, tmp_path):
    script("-o", "job.sh", "--", "./app")
    assert (tmp_path / "job.sh").stat().st_mode & 0o111


def test_a_site_has_its_say_and_the_user_the_last_word(script, tmp_path):
    (tmp_path / "site.toml").write_text('[script]\naccount = "site"\npartition = "normal"\n')
    text = script("-A", "mine", "--", "./app", env={"MPIRIC_SITE": str(tmp_path / "site.toml")}).stdout
    assert "--partition=normal" in text
    assert "--account=mine" in text
    assert "--account=site" not in text


def test_without_a_cluster_and_a_shape_the_error_says_how_to_give_one(run_mpiric, tmp_path):
    done = run_mpiric("script", "--", "./app", env={"PATH": str(tmp_path)})
    assert done.returncode == 120
    assert "hint: give --node 2x64x2" in done.stderr


@pytest.mark.parametrize("shape", ["2", "2x0", "ax2", "2x4x2x1"])
def test_a_shape_that_cannot_be_read_is_an_error(run_mpiric, shape):
    done = run_mpiric("script", "--node", shape, "--", "./app")
    assert (done.returncode, "--node takes" in done.stderr) == (120, True)


def test_ranks_said_twice_and_differently_are_an_error(script):
    done = script("--ranks", "4", "--", "mpirun", "-n", "8", "./app")
    assert (done.returncode, "contradict" in done.stderr) == (120, True)


def test_a_file_that_cannot_be_written_is_an_error(script):
    done = script("-o", "/nowhere/job.sh", "--", "./app")
    assert (done.returncode, "/nowhere/job.sh" in done.stderr) == (124, True)


def test_an_option_in_place_of_the_program_is_told(script):
    done = script("--", "--nodes", "4")
    assert done.returncode == 120
    assert "'--nodes' is an option, not a program" in done.stderr

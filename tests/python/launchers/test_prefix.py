import pytest

from mpiric.launchers import launcher_word, parse_command, render
from mpiric.model.job import Spelling


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("mpirun -n 2 ./a", "mpirun"),
        ("/opt/mpi/bin/mpiexec -n 2 ./a", "/opt/mpi/bin/mpiexec"),
        ("A=1 B=2 mpirun ./a", "mpirun"),
        ("env A=1 mpirun ./a", "mpirun"),
        ("env -i -u X -C /tmp A=1 /usr/bin/mpirun ./a", "/usr/bin/mpirun"),
        ("time -f %e mpirun ./a", "mpirun"),
        ("nice -n 5 mpirun ./a", "mpirun"),
        ("timeout -k 5 60 mpirun ./a", "mpirun"),
        ("stdbuf -oL mpirun ./a", "mpirun"),
        ("taskset -c 0-3 mpirun ./a", "mpirun"),
        ("numactl --interleave=all mpirun ./a", "mpirun"),
        ("numactl -m 0 -- mpirun ./a", "mpirun"),
        ("A=1 timeout 60 env B=2 nice srun ./a", "srun"),
        ("./a mpirun", None),
        ("python3 run.py mpirun -n 2", None),
        ("bash -c mpirun", None),
        ("time", None),
        ("", None),
    ],
)
def test_the_launcher_is_found_behind_other_words(line, word):
    assert launcher_word(line.split()) == word


@pytest.mark.parametrize("line", ["A=1 mpirun -n 1 ./a", "env A=1 mpirun -n 1 ./a"])
def test_variables_in_front_are_in_the_environment_of_the_job(parse, line):
    assert parse(line, "hydra", A="0").environment == {"A": "1"}


def test_variables_in_front_are_set_and_not_executed(parse):
    launch = render(parse("A=1 mpirun -n 1 ./a", "hydra"))
    assert (launch.argv[0], launch.environment) == ("mpirun", {"A": "1"})


def test_a_setting_wins_over_the_env_in_front_of_the_launcher(parse):
    spelling = Spelling(environment={"A": "2"})
    launch = render(parse("env A=1 B=1 mpirun -n 1 ./a", "hydra"), [("knob", "x", spelling)])
    assert launch.argv == ("env", "B=1", "A=2", "mpirun", "-n", "1", "./a")
    assert launch.settings[0].overrides == "A=1 (environment)"


def test_a_setting_is_not_lost_behind_an_env_that_clears_everything(parse):
    spelling = Spelling(environment={"A": "2"})
    launch = render(parse("env -i PATH=/bin mpirun -n 1 ./a", "hydra"), [("knob", "x", spelling)])
    assert launch.argv[:4] == ("env", "-i", "PATH=/bin", "A=2")


def test_a_variable_the_env_in_front_sets_can_be_taken_away(parse):
    spelling = Spelling(unset=("A",))
    launch = render(parse("env A=1 mpirun -n 1 ./a", "hydra"), [("knob", "x", spelling)])
    assert launch.argv == ("env", "mpirun", "-n", "1", "./a")


def test_a_prefix_without_a_launcher_stays_in_front_of_the_program():
    job = parse_command(["numactl", "-m", "0", "./a"], "/", {}, dialect=None)
    assert (job.prefix, job.program, job.dialect) == (("numactl", "-m", "0"), ("./a",), "direct")

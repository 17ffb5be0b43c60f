"""`mpiric run` and `mpiric env` with real launchers: the ranks get the settings, and nothing else changes."""

import json
import subprocess
import sys

import pytest

SHOWN = ("OMP_", "OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_mtl", "OPENBLAS_")
PROGRAM = f"env | grep -E '^({'|'.join(SHOWN)})'; true"
RANKS = 1024  # more than the CPUs of the machines that run these tests


def of_mpiric(*arguments, environment):
    command = [sys.executable, "-m", "mpiric", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def launch(mpi, program=PROGRAM):
    return [mpi.launcher, "-n", "2", "sh", "-c", program]


@pytest.fixture
def surroundings(mpi, environment):
    paths = {
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
        "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
    }
    plain = {name: value for name, value in environment.items() if not name.startswith(("OMP_", "OMPI_MCA"))}
    return {**plain, **mpi.environment, **paths}


def test_the_exit_status_of_the_program_is_returned(mpi, surroundings):
    command = launch(mpi, "exit 3")
    assert of_mpiric("run", "--no-recipe", "--", *command, environment=surroundings).returncode == 3


def settings(mpi, environment):
    done = of_mpiric("env", "-n", "2", "--mpi", mpi.label, "--json", environment=environment)
    return json.loads(done.stdout)["variables"]


def test_ranks_of_a_run_get_the_settings(mpi, surroundings):
    done = of_mpiric("run", "--no-recipe", "--", *launch(mpi), environment=surroundings)
    variables = settings(mpi, surroundings)
    assert done.stderr.count("safe defaults") == bool(variables)
    lines = done.stdout.splitlines()
    shown = {name: value for name, value in variables.items() if name.startswith(SHOWN)}
    assert {name: lines.count(f"{name}={value}") for name, value in shown.items()} == dict.fromkeys(shown, 2)


def test_as_is_changes_nothing(mpi, surroundings):
    done = of_mpiric("run", "--no-recipe", "--as-is", "--", *launch(mpi), environment=surroundings)
    assert "safe defaults" not in done.stderr
    assert "OMP_NUM_THREADS=" not in done.stdout


def test_a_value_of_the_user_reaches_the_ranks(mpi, surroundings):
    surroundings |= {"OMP_NUM_THREADS": "7"}
    done = of_mpiric("run", "--no-recipe", "--", *launch(mpi), environment=surroundings)
    assert done.stdout.splitlines().count("OMP_NUM_THREADS=7") == 2


def test_settings_of_env_do_not_keep_a_program_from_running(mpi, surroundings):
    script = f'eval "$({sys.executable} -m mpiric env -n {RANKS})" && exec "$@"'
    command = ["bash", "-c", script, "bash", mpi.launcher, "-n", "2", "sh", "-c", "exit 0"]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "")

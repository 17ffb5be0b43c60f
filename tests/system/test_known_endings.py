"""Commands that really fail: doctor names the cause first, and healthy ones have none."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "programs"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHERS = {"mpich": ("mpiexec.mpich", "-n"), "openmpi": ("mpirun.openmpi", "-np")}
STACKS = [pytest.param(name, marks=pytest.mark.requires(f"debian-{name}")) for name in LAUNCHERS]
pytestmark = pytest.mark.slow


@pytest.fixture
def diagnosed(run_mpiric, tmp_path):
    """Return the ids of doctor's findings on a command, and its exit status."""

    def run(stack, *program, ranks="2", env=ROOT):
        done = run_mpiric("doctor", "--json", "--", *LAUNCHERS[stack], ranks, *program, env=env)
        return [finding["id"] for finding in json.loads(done.stdout)["findings"]], done.returncode

    return run


@pytest.fixture
def program(tmp_path):
    def build(stack, source="ends.c"):
        target = tmp_path / "program"
        subprocess.run([f"mpicc.{stack}", str(SOURCES / source), "-o", str(target)], check=True, timeout=60)
        return target

    return build


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("4", "illegal-instruction"),
        ("9", "killed"),
        ("11", "segmentation-fault"),
        ("8", "floating-point-exception"),
    ],
)
def test_a_signal_is_named_first(diagnosed, program, stack, argument, expected):
    findings, status = diagnosed(stack, program(stack), argument)
    assert status != 0
    assert findings[0] == expected


@pytest.mark.parametrize("stack", STACKS)
def test_a_missing_program_is_named_first(diagnosed, tmp_path, stack):
    assert diagnosed(stack, tmp_path / "missing")[0][0] == "program-not-found"


@pytest.mark.requires("debian-openmpi")
def test_too_few_slots_are_named_first(diagnosed, program):
    assert diagnosed("openmpi", program("openmpi"), ranks="64")[0][0] == "not-enough-slots"


@pytest.mark.requires("debian-openmpi")
@pytest.mark.parametrize(("options", "is_named"), [((), True), (("-q",), False)])
def test_a_plain_run_names_the_cause_unless_it_is_quiet(run_mpiric, program, options, is_named):
    line = ("mpirun.openmpi", "-np", "64", program("openmpi"))
    done = run_mpiric("run", "--as-is", *options, "--", *line, env=ROOT)
    assert done.returncode == 1
    assert "not enough slots" in done.stderr
    assert ("mpiric: the launch line asks for 64 ranks" in done.stderr) == is_named


@pytest.mark.requires("debian-openmpi")
def test_a_remedy_is_tried_in_a_copy_of_the_directory(run_mpiric, program, tmp_path):
    program("openmpi")
    (tmp_path / "app.sh").write_text('#!/bin/sh\necho "$(cat)" >written\nexec ./program\n')
    (tmp_path / "app.sh").chmod(0o755)
    argv = ("doctor", "--json", "--try", "--abi", "openmpi", "--", "mpirun.openmpi", "-np", "4", "./app.sh")
    done = run_mpiric(*argv, env=ROOT)
    tried = json.loads(done.stdout)["tried"]
    assert done.returncode != 0
    assert tried == {
        "command": "mpirun.openmpi --oversubscribe -np 4 ./app.sh",
        "works": True,
        "reason": "",
    }
    assert not (tmp_path / "written").exists()


@pytest.mark.requires("debian-openmpi")
def test_a_remedy_that_fails_is_reported_with_the_next_cause(run_mpiric, program):
    argv = ("doctor", "--json", "--try", "--", "mpirun.openmpi", "-np", "4", program("openmpi"), "8")
    tried = json.loads(run_mpiric(*argv, env=ROOT).stdout)["tried"]
    assert not tried["works"]
    assert "SIGFPE" in tried["reason"]


@pytest.mark.requires("mpi:mpich", "user-namespaces")
def test_ranks_in_different_namespaces_are_named(run_mpiric, mpi_prefix, tmp_path):
    prefix = mpi_prefix("mpich")
    subprocess.run(
        [prefix / "bin/mpicc", SOURCES / "large_message.c", "-o", tmp_path / "large"], check=True, timeout=60
    )
    line = (prefix / "bin/mpiexec", "-n", "2", "unshare", "-U", "-r", "./large")
    done = run_mpiric("doctor", "--json", "--try", "--abi", "mpich", "--", *line)
    report = json.loads(done.stdout)
    assert report["findings"][0]["id"] == "copy-between-namespaces"
    assert report["findings"][0]["evidence"].count("user:[") == 2
    assert report["tried"]["works"], report["tried"]


@pytest.mark.requires("debian-openmpi")
def test_transports_that_connect_nobody_are_named_first(diagnosed, program):
    # Open MPI 4 loses the text on a busy machine while it collects the texts of all ranks.
    env = {**ROOT, "OMPI_MCA_pml": "nothing", "OMPI_MCA_orte_base_help_aggregate": "0"}
    assert diagnosed("openmpi", program("openmpi"), env=env)[0][0] == "ranks-not-connected"


@pytest.mark.parametrize("stack", STACKS)
def test_an_exit_status_of_the_program_is_not_explained(diagnosed, program, stack):
    findings, status = diagnosed(stack, program(stack), "exit")
    assert status == 3
    assert not {"killed", "aborted", "illegal-instruction"} & set(findings)


@pytest.mark.requires("debian-mpich")
def test_an_unknown_failure_is_still_reported(run_mpiric, program):
    done = run_mpiric("doctor", "--all", "--", "mpiexec.mpich", "-n", "2", program("mpich"), "exit")
    assert "the command ended with exit status 3, and mpiric does not know why" in done.stderr
    assert "mpiric tune" not in done.stderr


@pytest.mark.requires("debian-mpich", "debian-openmpi")
def test_ranks_that_each_run_alone_are_an_error_with_the_right_launcher(run_mpiric, program, tmp_path):
    (tmp_path / "app.sh").write_text(f"#!/bin/sh\nexec {program('openmpi', 'shows_launch.c')}\n")
    (tmp_path / "app.sh").chmod(0o755)
    argv = ("doctor", "--json", "--abi", "openmpi", "--", "mpiexec.mpich", "-n", "2", "./app.sh")
    first = json.loads(run_mpiric(*argv, env=ROOT).stdout)["findings"][0]
    assert first["id"] == "ranks-alone"
    assert "openmpi" in first["commands"][0] or "mpirun" in first["commands"][0]

"""`mpiric mpi` as a user and a script see it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode
from mpiric.mpis import packages


def test_prefix_prints_a_path_and_nothing_else(run_mpiric, mpi_prefix):
    done = run_mpiric("mpi", "prefix", "mpich", env={"MPIRIC_MPI_HOME": str(mpi_prefix("mpich").parent)})
    assert (done.stdout, done.returncode) == (f"{mpi_prefix('mpich')}\n", 0)


@pytest.mark.parametrize("name", ["openmpi", "openmpi-5", "openmpi-5.0", packages()["openmpi"].label])
def test_a_prefix_is_found_by_name_and_by_label(run_mpiric, mpi_prefix, name):
    home = mpi_prefix("openmpi").parent
    assert (
        run_mpiric("mpi", "prefix", name, env={"MPIRIC_MPI_HOME": str(home)})
        .stdout.strip()
        .startswith(str(home))
    )


def test_a_missing_mpi_is_reported_with_the_install_command(run_mpiric, tmp_path):
    done = run_mpiric("mpi", "prefix", "intelmpi", env={"MPIRIC_MPI_HOME": str(tmp_path)})
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "hint: mpiric mpi install intelmpi"
    assert done.returncode == ExitCode.NOT_FOUND


def test_an_unknown_mpi_cannot_be_installed(run_mpiric):
    done = run_mpiric("mpi", "install", "lam")
    assert "the MPI 'lam' is not available" in done.stderr
    assert "mpich" in done.stderr.splitlines()[-1]


def test_an_unreachable_index_is_one_sentence_and_a_hint(run_mpiric, tmp_path):
    offline = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_FIND_LINKS": "",
        "MPIRIC_MPI_HOME": str(tmp_path),
    }
    done = run_mpiric("mpi", "install", "mpich", env=offline)
    assert "out of reach" in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / packages()["mpich"].label).exists()


@pytest.mark.requires("root", "netns", "unshare")
def test_a_full_disk_is_reported_and_leaves_no_files(environment, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    script = f'mount -t tmpfs -o size=2m full {full}; "$0" mpi install mpich; s=$?; ls {full}; exit $s'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, Path(sys.executable).parent / "mpiric"],
        env={**environment, "MPIRIC_MPI_HOME": str(full)},
        capture_output=True,
        text=True,
    )
    assert "no room" in done.stderr
    assert done.stdout == ""
    assert done.returncode == ExitCode.NO_ROOM


def test_a_read_only_home_is_reported(run_mpiric, tmp_path):
    (tmp_path / "file").touch()
    done = run_mpiric("mpi", "install", "mpich", env={"MPIRIC_MPI_HOME": str(tmp_path / "file")})
    assert done.returncode == ExitCode.NO_ROOM
    assert "MPIRIC_MPI_HOME" in done.stderr


def test_list_as_json_is_one_object_with_every_mpi(run_mpiric, mpi_prefix):
    done = run_mpiric("mpi", "list", "--json", env={"MPIRIC_MPI_HOME": str(mpi_prefix("mpich").parent)})
    labels = [entry["label"] for entry in json.loads(done.stdout)["mpis"]]
    assert packages()["mpich"].label in labels


def test_without_a_word_it_explains_itself(run_mpiric):
    done = run_mpiric("mpi")
    assert "install" in done.stdout
    assert done.returncode == 0

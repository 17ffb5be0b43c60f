"""A full disk, limits of the system, and a user who is not root."""

import subprocess
from pathlib import Path

import pytest

from mpiric.host.processes.execution import Workspace
from mpiric.model.errors import NoRoomError
from mpiric.model.job import Launch

as_root = pytest.mark.requires("root", "mount")


@pytest.fixture
def small(tmp_path: Path):
    """A file system of 1 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


@as_root
def test_output_that_does_not_fit_the_disk_is_an_error_with_a_hint(bench, small):
    launch = Launch(("sh", "-c", "yes | head -c 4000000"), "")
    with pytest.raises(NoRoomError, match="is full") as raised:
        bench.runner.execute(
            launch, bench.environment, Workspace(bench.path, small / "out", small / "err"), 60
        )
    assert raised.value.hint


@as_root
def test_a_disk_filled_by_the_program_itself_is_an_error(bench, small):
    with pytest.raises(NoRoomError, match="is full"):
        bench.run("sh", "-c", "head -c 4000000 /dev/zero > data", directory=small)


@as_root
def test_a_disk_that_is_full_from_the_start_is_an_error(bench, small):
    subprocess.run(["dd", "if=/dev/zero", f"of={small}/ballast"], check=False, capture_output=True)
    with pytest.raises(NoRoomError, match="is full"):
        bench.run("echo", "x", directory=small)


def test_a_file_size_limit_is_named_as_the_signal_it_sends(bench):
    execution = bench.run("sh", "-c", "ulimit -f 1; exec head -c 4000000 /dev/zero")
    assert execution.reason == "ended by signal SIGXFSZ"


def test_an_ordinary_user_sees_ranks_and_leaves_nothing(bench, as_nobody):
    script = """
        import os, tempfile
        from mpiric.host.processes.execution import Runner, Workspace
        from mpiric.model.job import Launch
        with Runner(grace_s=1.0) as runner, tempfile.TemporaryDirectory() as path:
            os.mkfifo(path + "/seen")
            launch = Launch(("sh", "-c", "(setsid sleep 600 &); read line <seen"), "")
            def look(ranks):
                if ranks:
                    with open(os.open(path + "/seen", os.O_RDWR), "w") as file:
                        file.write("\\n")
            runner.on_sample = look
            workspace = Workspace(path, path + "/o", path + "/e")
            run = runner.execute(launch, dict(os.environ), workspace, 240)
            print(run.outcome.value, len(run.ranks), *run.strays)
    """
    done = as_nobody(script, MPIRIC_TEST_TAG=bench.tag)
    assert done.stdout.split() == ["ok", "1", "sleep"], done.stderr
    assert bench.alive() == []

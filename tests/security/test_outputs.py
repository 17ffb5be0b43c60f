"""Outputs with names that the user chose, or that mpiric has for its own files: nothing else is lost."""

import json
import os
import stat

import pytest
from tests.support.users import USERS

from mpiric.host import user_directories
from mpiric.host.owned_files import may_be_replaced, write_whole
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.profile import read
from mpiric.workflows import policies
from mpiric.workflows.build import inspect
from mpiric.workflows.submit.submission import SubmitRequest, write_submission
from mpiric.workflows.sweep.log import check_free, forget, keep_options

MINE = "of mine\n"
among_users = pytest.mark.requires(*USERS)


@among_users
@pytest.mark.parametrize("name", ["symbolic", "hard", "other"])
def test_a_log_is_not_written_through_a_name_that_another_user_planted(people, name):
    private, log = people.owner.home / ".bashrc", people.machine.project / "mpiric.log"
    people.owner.run("sh", "-c", "umask 077; printf 'of mine\\n' >.bashrc", check=True)
    if name == "hard":
        os.link(private, log)
    elif name == "symbolic":
        people.other.run("ln", "-s", private, log, check=True)
    else:
        people.other.run("sh", "-c", f"echo x >{log}; chmod 666 {log}", check=True)
    before = log.read_bytes()
    done = people.owner.mpiric("--log-file", log, "completion", "bash")
    assert done.returncode != 0
    assert "--log-file" in done.stderr
    assert (private.read_text(), log.read_bytes()) == (MINE, before)


@among_users
def test_a_log_or_an_output_that_is_a_fifo_of_another_user_does_not_block(people):
    project = people.machine.project
    people.other.run("mkfifo", "-m", "666", project / "log", project / "page", check=True)
    done = people.owner.mpiric("--log-file", project / "log", "completion", "bash", timeout=100)
    assert "--log-file" in done.stderr
    script = "import sys; from pathlib import Path; from mpiric.host.owned_files import write_whole\n"
    people.owner.python(f"{script}write_whole(Path(sys.argv[1]), b'new')", project / "page", timeout=100)
    assert (project / "page").read_text() == "new"


def test_a_log_goes_to_a_link_and_a_file_of_the_users_own(run_mpiric, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for _ in range(2):
        assert run_mpiric("--log-file", "link", "completion", "bash").returncode == 0
    assert (tmp_path / "target").read_text().count("mpiric called as") == 2
    assert run_mpiric("--log-file", "/dev/null", "completion", "bash").returncode == 0


@pytest.mark.requires("root")
def test_a_device_is_written_to_and_stays(tmp_path, monkeypatch):
    device = tmp_path / "null"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    assert not may_be_replaced(device)
    write_whole(device, b"x")
    monkeypatch.setattr(inspect, "read_executable", lambda _: b"")
    monkeypatch.setattr(inspect, "extract", lambda *_: b"x" * 9000)
    (tmp_path / "program").touch()
    inspect.extract_to(tmp_path / "program", "haswell", device)
    assert stat.S_ISCHR(device.stat().st_mode)


@pytest.mark.parametrize(
    "name", ["mpiric.policy", "collectives.sh", "coll_tuned.rules", "intelmpi-8-ranks.sh"]
)
def test_an_export_is_not_made_among_files_of_its_names(tmp_path, name):
    (tmp_path / name).write_text(MINE)
    for check in (policies.check_free, check_free):
        with pytest.raises(MpiricError, match=name):
            check(tmp_path)
    # A file of an earlier export may be replaced.
    (tmp_path / policies.FLAT).write_text("mpiric-policy 1\n")
    policies.check_free(tmp_path)


@pytest.mark.parametrize("name", ["options.json", "sweep.jsonl"])
@pytest.mark.parametrize("text", [MINE, '{"size": 3}', "[1]"])
def test_a_sweep_overwrites_no_file_of_the_user(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(MpiricError, match=name):
        keep_options(tmp_path, ["--sizes", "8"]) if name == "options.json" else check_free(tmp_path)
    with pytest.raises(MpiricError, match=name):
        keep_options(tmp_path, []) if name == "options.json" else forget(tmp_path)
    assert (tmp_path / name).read_text() == text


def test_the_options_of_an_earlier_sweep_are_replaced(tmp_path):
    for options in (["--sizes", "8"], []):
        keep_options(tmp_path, options)
        assert json.loads((tmp_path / "options.json").read_text()) == options


@pytest.mark.parametrize("name", ["job.sh", "job.in", "job.out", "job.log", "job.status"])
def test_a_submission_overwrites_no_file_of_the_user(tmp_path, name):
    (tmp_path / name).write_text(MINE)
    request = SubmitRequest(tmp_path, ("profile",), ("mpirun", "./app"), str(tmp_path), {})
    with pytest.raises(MismatchError, match=name):
        write_submission(request, None, None)
    assert (tmp_path / name).read_text() == MINE


def test_a_merge_leaves_a_file_of_its_temporary_name_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "_image", lambda _: b"")
    monkeypatch.setattr(read, "read_head", lambda _: None)
    temporary = tmp_path / f"merging.{os.getpid()}"
    temporary.write_text(MINE)
    with pytest.raises(FileExistsError):
        read._write(tmp_path, [tmp_path], b"")
    assert temporary.read_text() == MINE


@pytest.mark.parametrize("kind", ["fifo", "link", "directory"])
def test_the_cache_reads_regular_files_only(tmp_path, kind):
    (tmp_path / "target").write_text("x")
    (tmp_path / "target").chmod(0o600)
    assert user_directories.read_cached(str(tmp_path / "target")) == "x"
    path = tmp_path / "entry"
    {"fifo": os.mkfifo, "link": lambda p: p.symlink_to(tmp_path / "target"), "directory": os.mkdir}[kind](
        path
    )
    assert user_directories.read_cached(str(path)) is None

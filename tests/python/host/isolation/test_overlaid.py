"""Overlaid trial directories: whatever a trial does, the user's files stay as they are, in every respect."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import overlay_attacks

from mpiric.host.isolation import copying
from mpiric.host.isolation.overlaid import why_no_overlay
from mpiric.host.isolation.trial_area import PREFIX
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.errors import MpiricError, NoRoomError
from mpiric.model.job import Launch

ATTACKS = Path(overlay_attacks.__file__)
PYTHON = shlex.quote(sys.executable)
MMAP = "import mmap;f=open('in.dat','r+b');m=mmap.mmap(f.fileno(),0);m[0:4]=b'mmap';m.close();f.close()"
TIMES = "import os;s=os.stat('in.dat');open('in.dat','r+').write('X');os.utime('in.dat',ns=(0,s.st_mtime_ns))"
MEDDLING = {
    "append": "echo a >> in.dat",
    "truncate": ": > in.dat; truncate -s 1M log",
    "mmap": f'{{python}} -c "{MMAP}"',
    "times-put-back": f'{{python}} -c "{TIMES}"',
    "rename-over": "echo new > t; mv t in.dat; mv log in.dat",
    "rename-directory": "mv deep other; echo x >> other/er/x",
    "modes": "chmod 777 in.dat sealed deep; chmod 000 log; touch -d 1999-01-01 shared results",
    "remove": "rm -rf deep results in.dat; mkdir in.dat; echo x > in.dat/x",
    "hard-link": "ln in.dat hard; echo h >> hard; echo s >> second-name; ln -f log shared",
    "through-a-link": "echo l > absolute; rm up; echo u > up",
    "absolute-path": 'echo a >> "$1/in.dat"; rm -r "$1/deep"; echo n > "$1/new"; mv "$1/log" "$1/log2"',
    "by-dot-dot": "cd deep/er; echo d >> ../../in.dat; rm ../../log",
    "left-open": "exec 9>>in.dat; (sleep 0.2; echo late >&9) & disown",
}


def attack_as(
    request: pytest.FixtureRequest, user: str, **variables: str
) -> Callable[..., dict[str, object]]:
    """Runs scripts, one a trial, as root or as an ordinary user in a namespace of its own."""

    def run(*scripts: str) -> "subprocess.CompletedProcess[str]":
        if user != "root":
            scripts_here = (script.replace("{python}", "/usr/bin/python3") for script in scripts)
            return as_nobody(ATTACKS.read_text(), *scripts_here, **variables)
        command = [sys.executable, str(ATTACKS), *(script.replace("{python}", PYTHON) for script in scripts)]
        environment = {**os.environ, **variables}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    def report_of(*scripts: str) -> dict[str, object]:
        done = run(*scripts)
        assert done.returncode == 0, done.stderr
        output = json.loads(done.stdout)
        if not output["overlaid"] and not variables:
            pytest.skip("this kernel lets nobody mount overlays here")
        return output

    if user == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    as_nobody = request.getfixturevalue("as_nobody") if user != "root" else None
    return report_of


@pytest.fixture(params=["root", "nobody"])
def attack(request: pytest.FixtureRequest) -> Callable[..., dict[str, object]]:
    """Trials are overlays."""
    return attack_as(request, request.param)


@pytest.fixture(params=["root", "nobody"])
def attack_copies(request: pytest.FixtureRequest) -> Callable[..., dict[str, object]]:
    """Trials are copies that are restored from one to the next."""
    return attack_as(request, request.param, COPY="1")


@pytest.mark.parametrize("script", MEDDLING.values(), ids=list(MEDDLING))
def test_the_users_files_are_the_same_afterwards_and_the_next_trial_finds_them_so(attack, script):
    assert_nothing_stays(attack, script)


@pytest.mark.parametrize("script", [text for name, text in MEDDLING.items() if name != "absolute-path"])
def test_a_copy_is_restored_to_its_original_state(attack_copies, script):
    assert_nothing_stays(attack_copies, script)


def assert_nothing_stays(attack, script):
    files = "find . -printf '%y %m %u %p %l %T@\\n' | sort; cat in.dat log deep/er/x shared sealed"
    look = files + "; stat -c %s in.dat log"
    output = attack(look, script, look)
    assert output["same"]
    first, meddled, after = output["printed"]
    assert meddled.startswith("0 "), meddled
    assert first == after
    assert output["left"] == []


def test_a_trial_finds_its_neighbours_and_is_where_its_name_says(attack):
    (printed,) = attack('cat up ../../outside/far; basename "$PWD"')["printed"]
    assert printed == "0 farfarrun\n"


def test_written_files_are_the_new_or_changed_ones(attack):
    script = "echo x >> in.dat; echo n > deep/new; cat log > /dev/null; : >> shared; rm sealed; mv results r"
    (written,) = attack(script)["written"]
    assert written == ["deep/new", "in.dat", "r/old"]


def test_the_mounts_are_seen_by_the_launch_alone(attack):
    output = attack("grep -c overlay /proc/self/mountinfo")
    assert output["mounts"] == 0
    assert output["printed"] != ["1 0\n"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "project" / "run"
    work.mkdir(parents=True)
    (work / "in.dat").write_text("original")
    return work


@pytest.fixture
def overlaid(work, tmp_path):
    """Trials over ``work``, and how to run a script in one."""
    with Runner() as runner, WorkingCopies(work, tmp_path / "store", CopyPolicy(mounter=runner)) as copies:
        if copies.fresh().mount is None:
            pytest.skip("this kernel lets nobody mount overlays here")
        yield copies, lambda script: run_in(copies, runner, tmp_path, script)


def run_in(copies: WorkingCopies, runner: Runner, place: Path, script: str) -> str:
    directory = copies.fresh()
    launch, output = Launch(("/bin/sh", "-c", script), "/"), place / "out"
    runner.execute(launch, os.environ, Workspace(directory.path, output, output, directory.mount), 60)
    return output.read_text()


def test_an_input_edited_meanwhile_does_not_change_later_trials(overlaid, work):
    copies, run = overlaid
    copies.depend_on(["in.dat", "/etc/hostname", "not-there"])
    (work / "in.dat").write_text("edited")
    assert run("cat in.dat") == "original"


def test_an_input_is_known_by_the_path_that_a_rank_has_opened(overlaid, work):
    copies, run = overlaid
    copies.depend_on([f"{copies.fresh().path}/in.dat"])
    (work / "in.dat").write_text("edited")
    assert run("cat in.dat") == "original"


def test_an_input_too_large_to_be_copied_that_changes_ends_the_comparison(overlaid, work):
    copies, run = overlaid
    with (work / "large").open("wb") as file:
        file.truncate(1 << 40)
    copies.depend_on(["large"])
    assert run("stat -c %s large").strip() == str(1 << 40)
    with (work / "large").open("r+b") as file:
        file.write(b"x")
    with pytest.raises(MpiricError, match="large has changed since the start") as raised:
        copies.fresh()
    assert raised.value.hint


def test_a_file_that_a_trial_wrote_into_is_laid_above_before_the_next(overlaid):
    copies, run = overlaid
    run("echo x >> in.dat")
    directory = copies.fresh()
    assert (Path(directory.mount.upper) / "in.dat").read_text() == "original"
    assert directory.written() == {}


def test_after_a_mount_a_trial_may_be_made_in_a_copy(overlaid):
    copies, run = overlaid
    run("exit 1")
    copies.copy_instead()
    assert run("echo $PWD; cat in.dat").endswith("run\noriginal")


def test_one_runner_serves_one_area_after_the_other(work, tmp_path):
    with Runner() as runner:
        for turn in range(2):
            with WorkingCopies(work, tmp_path / f"s{turn}", CopyPolicy(mounter=runner)) as copies:
                if copies.fresh().mount is None:
                    pytest.skip("this kernel lets nobody mount overlays here")
                assert run_in(copies, runner, tmp_path, "cat in.dat; echo x > in.dat") == "original"
    assert (work / "in.dat").read_text() == "original"


def test_a_command_of_the_user_sees_the_files_of_the_trial(overlaid, work):
    copies, run = overlaid
    assert run("pwd; echo x > new; rm in.dat").strip().endswith(str(work))
    directory = copies.fresh()  # mounts of the previous launch stay until the next one
    command = ["/bin/sh", "-c", "pwd; ls"]
    done = subprocess.run(command, preexec_fn=directory.entering, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == str(directory.path)


def test_a_store_inside_the_directory_stays_the_real_one(work):
    with Runner() as runner, WorkingCopies(work, work / "s", CopyPolicy(mounter=runner)) as copies:
        if copies.fresh().mount is None:
            pytest.skip("this kernel lets nobody mount overlays here")
        assert run_in(copies, runner, work / "s", f"echo r > {work}/s/record; ls") == "in.dat\ns\n"
    assert (work / "s/record").read_text() == "r\n"


def test_two_tunes_of_one_directory_do_not_meet(overlaid, work, tmp_path):
    _, run = overlaid
    run("echo one > mine")
    with (
        Runner() as runner,
        WorkingCopies(work, tmp_path / "other", CopyPolicy(mounter=runner)) as other_copies,
    ):
        assert run_in(other_copies, runner, tmp_path, "ls; echo two > mine") == "in.dat\n"
        assert run("ls") == "in.dat\n"
    assert run("ls") == "in.dat\n"
    assert [path.name for path in work.iterdir()] == ["in.dat"]


def test_a_killed_mpiric_leaves_the_users_files_and_no_mounts_and_the_next_cleans_up(work, tmp_path):
    script = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ATTACKS.parents[2])!r})
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch
runner = Runner()
copies = WorkingCopies(Path({str(work)!r}), Path({str(tmp_path / "store")!r}), CopyPolicy(mounter=runner))
directory = copies.__enter__().fresh()
kill = f"echo x > in.dat; kill -9 {{os.getpid()}}; sleep 60"
launch = Launch(("/bin/sh", "-c", kill), "/")
runner.execute(launch, os.environ, Workspace(directory.path, *["/dev/null"] * 2, directory.mount), 60)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert (work / "in.dat").read_text() == "original"
    assert str(work) not in Path("/proc/self/mountinfo").read_text()
    (leftover,) = (tmp_path / "store").glob(f"{PREFIX}*")
    with WorkingCopies(work, tmp_path / "store"):
        assert not leftover.exists()


def test_the_cost_of_a_trial_does_not_depend_on_the_number_of_files(overlaid, work, monkeypatch):
    copies, run = overlaid
    for directory in range(50):
        (work / f"d{directory}").mkdir()
        for number in range(20):
            (work / f"d{directory}/{number}").touch()
    listed = []
    scan = os.scandir
    monkeypatch.setattr(copying.os, "scandir", lambda path: listed.append(path) or scan(path))
    run("echo x > d7/new; echo x >> in.dat")
    copies.fresh()
    assert len(listed) <= 12  # the layers alone, by walk and by their removal
    assert not [path for path in listed if str(path).startswith(str(work))]


@pytest.mark.requires("root", "mount")
def test_a_full_disk_is_reported_and_the_users_files_are_intact(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=True)
    try:
        work = small / "run"
        work.mkdir()
        (work / "in.dat").write_bytes(b"a" * (1 << 20))
        store = tmp_path / "store"
        with Runner() as runner, WorkingCopies(work, store, CopyPolicy(mounter=runner)) as copies:
            assert copies.fresh().mount is not None
            with pytest.raises(NoRoomError):
                run_in(copies, runner, tmp_path, "cat in.dat in.dat in.dat >> in.dat.new; echo x >> in.dat")
        assert (work / "in.dat").read_bytes() == b"a" * (1 << 20)
        assert [path.name for path in small.iterdir()] == ["run"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_directories_that_must_not_be_laid_over_are_named(work, tmp_path):
    assert why_no_overlay(work, ()) == ""
    assert why_no_overlay(tmp_path, (str(work),)) == "it holds the directory of temporary files"
    assert "is mounted in it" in why_no_overlay(Path("/"), ())
    assert "is of type proc" in why_no_overlay(Path("/proc/self"), ())

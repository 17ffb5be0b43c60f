from pathlib import Path

import pytest
from tests.support.recording_host import RecordingHost
from tests.support.replay_host import Recording, ReplayHost, command_key

from mpiric.host.facts.local import LocalHost
from mpiric.host.files import matching
from mpiric.host.host import Completed


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").write_text("#!/bin/sh\necho $WORD\n")
    (tmp_path / "bin/tool").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "bin/tool")
    return tmp_path


def _replayed(host: RecordingHost, path: Path) -> ReplayHost:
    host.recording.write(path)
    return ReplayHost.load(path)


def test_answers_come_back_as_they_were_given(tree: Path):
    host = RecordingHost(LocalHost())
    tool = str(tree / "bin/tool")
    questions = (
        lambda h: h.read_text(tool),
        lambda h: h.list_dir(str(tree)),
        lambda h: h.is_file(tool),
        lambda h: h.is_executable(tool),
        lambda h: h.real_path(str(tree / "link")),
        lambda h: h.which(tool),
        lambda h: h.space(str(tree)),
        lambda h: h.run([tool], environment={"WORD": "hello"}),
        lambda h: h.addresses(),
        lambda h: h.elf("/bin/ls"),
    )
    answers = [question(host) for question in questions]
    replayed = _replayed(host, tree / "recording.json")
    assert [question(replayed) for question in questions] == answers


def test_absent_files_stay_absent(tree: Path):
    host = RecordingHost(LocalHost())
    missing = str(tree / "missing")
    assert host.read_text(missing) is None
    replayed = _replayed(host, tree / "recording.json")
    assert replayed.read_text(missing) is None
    assert replayed.list_dir(missing) == ()
    assert not replayed.is_file(missing)
    assert replayed.run([missing]).status == 127


def test_only_queried_variables_are_kept(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", "nobody's business")
    monkeypatch.setenv("ASKED", "yes")
    host = RecordingHost(LocalHost())
    assert host.environ.get("ASKED") == "yes"
    assert "SECRET" not in (tree / "r").as_posix() + str(host.recording)


def test_the_path_of_the_interpreter_is_not_recorded(tree: Path):
    host = RecordingHost(LocalHost())
    host.run([host.python, "-c", "print(1)"])
    replayed = _replayed(host, tree / "recording.json")
    assert replayed.run([replayed.python, "-c", "print(1)"]).stdout == "1\n"
    assert host.python not in (tree / "recording.json").read_text()


def test_recording_twice_writes_the_same_file(tree: Path):
    texts = []
    for name in ("a.json", "b.json"):
        host = RecordingHost(LocalHost())
        host.read_text(str(tree / "bin/tool"))
        host.list_dir(str(tree / "bin"))
        host.recording.write(tree / name)
        texts.append((tree / name).read_text())
    assert texts[0] == texts[1]


def test_a_recording_of_another_format_is_refused(tree: Path):
    (tree / "old.json").write_text('{"format": 0}')
    with pytest.raises(ValueError, match="format 0"):
        Recording.read(tree / "old.json")


def test_directories_follow_from_made_up_files():
    host = ReplayHost(Recording(files={"/opt/mpich/bin/mpiexec": "", "/opt/mpich/lib/libmpi.so.12": ""}))
    assert host.list_dir("/opt/mpich") == ("bin", "lib")
    assert host.list_dir("/") == ("opt",)
    assert host.is_executable("/opt/mpich/bin/mpiexec")
    assert not host.is_executable("/opt/mpich/lib/libmpi.so.12")


def test_path_is_searched_in_a_made_up_host():
    host = ReplayHost(Recording(files={"/b/bin/x": ""}, environ={"PATH": "/a/bin:/b/bin"}))
    assert host.which("x") == "/b/bin/x"
    assert host.which("y") is None


def test_an_answer_recorded_without_variables_serves_for_any():
    host = ReplayHost(Recording(commands={command_key(["x"], None): Completed(0, "ok", "")}))
    assert host.run(["x"], environment={"A": "1"}).stdout == "ok"


def test_patterns_cross_no_directory():
    host = ReplayHost(Recording(files={"/opt/a/lib/x.so": "", "/opt/b/x.so": "", "/opt/.c/lib/x.so": ""}))
    assert list(matching(host, "/opt/*/lib/*.so")) == ["/opt/a/lib/x.so"]

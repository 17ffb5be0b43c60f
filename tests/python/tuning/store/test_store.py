import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NoRoomError, NotFoundError
from mpiric.model.run import Outcome, Phase, Split, Trial
from mpiric.tuning.store import Lock, Store, default_store

COMMAND = ("mpirun", "-n", "2", "lmp")


def _trial(number: int, phase: Phase = Phase.SEARCH) -> Trial:
    return Trial(
        Configuration.of({"binding": "core"}), phase, Outcome.OK, 0.25, 0.25,
        started_at="2026-11-21T08:00:00Z", rss_peak_bytes=1 << 33, number=number, reason='"é\n',
    )  # fmt: skip


def test_trials_come_back_as_they_went_in(tmp_path: Path) -> None:
    trials = (_trial(1), _trial(2, Phase.PROOF))
    with Store(tmp_path).create("lmp", "job-a", COMMAND) as tune:
        for trial in trials:
            tune.append_trial(trial)
        assert tune.read().trials == trials
        assert tune.read().trials_of(Phase.PROOF) == trials[1:]


@pytest.mark.parametrize(
    "split", [Split(0.3), Split(0.3, main_s=2.5, end_s=0.1), Split(0.3, per_mark_s=0.01)], ids=str
)
def test_the_split_of_a_trial_comes_back(tmp_path: Path, split: Split) -> None:
    trial = replace(_trial(1), split=split)
    with Store(tmp_path).create("lmp", "job-a", COMMAND) as tune:
        tune.append_trial(trial)
        assert tune.read().trials == (trial,)


def test_meta_contains_the_additions_of_the_workflow(tmp_path: Path) -> None:
    with Store(tmp_path).create("lmp", "job-a", COMMAND, budget_s=600) as tune:
        meta = tune.read().meta
    assert (meta["job"], meta["command"], meta["budget_s"]) == ("job-a", list(COMMAND), 600)


def test_a_tune_of_a_store_that_is_named_from_here_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store(Path("store")).create("heat", "job", ("heat",)) as log:
        assert log.path.is_relative_to(tmp_path / "store")


def test_the_store_is_under_the_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    assert default_store() == Path("/somewhere/state/mpiric/tunes")


@pytest.mark.parametrize("cut", range(2, 60, 7))
def test_a_torn_last_line_is_skipped_and_the_next_event_is_whole(tmp_path: Path, cut: int) -> None:
    store = Store(tmp_path)
    with store.create("lmp", "job", COMMAND) as tune:
        tune.append_trial(_trial(1))
        tune.append_trial(_trial(2))
    events = tune.path / "events.jsonl"
    events.write_bytes(events.read_bytes()[:-cut])
    with store.resume(tune.path) as again:
        again.append_trial(_trial(3))
        log = again.read()
    assert [trial.number for trial in log.trials] == [1, 3]
    assert log.damaged_lines == 1


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff\xfe\n", b"{}\n", b"[1]\n", b'{"event": 3}\n', b'{"event": "trial"}\n', b"[" * 5000 + b"\n",
     b'{"event": "trial", "configuration": {}, "phase": "search", "outcome": "ok", "wall_s": "x", '
     b'"objective": 1}\n', b'{"event":"x","n":' + b"9" * 6000 + b"}\n"],
)  # fmt: skip
def test_garbage_lines_are_skipped_and_counted(tmp_path: Path, garbage: bytes) -> None:
    with Store(tmp_path).create("lmp", "job", COMMAND) as tune:
        with (tune.path / "events.jsonl").open("ab") as file:
            file.write(garbage)
        tune.append_trial(_trial(1))
        log = tune.read()
    assert [trial.number for trial in log.trials] == [1]
    assert log.damaged_lines == 1


def test_two_tunes_of_one_command_have_directories_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.create("lmp", "job", COMMAND) as first, store.create("lmp", "job", COMMAND) as second:
        assert first.path != second.path


def test_a_tune_is_continued_by_one_process_at_a_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with (
        store.create("lmp", "job", COMMAND) as tune,
        pytest.raises(MpiricError, match=f"process {os.getpid()}"),
    ):
        store.resume(tune.path)
    store.resume(tune.path).close()


def test_latest_finds_the_interrupted_tune_of_the_job(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.create("lmp", "other", COMMAND).close()
    with store.create("lmp", "job", COMMAND) as tune:
        tune.append_trial(_trial(1))
    assert store.latest("job").path == tune.path
    assert store.latest("job").trials == 1


def test_latest_says_when_the_tune_is_still_running(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.create("lmp", "job", COMMAND), pytest.raises(MpiricError, match="still running"):
        store.latest("job")


def test_a_finished_tune_is_not_continued(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.create("lmp", "job", COMMAND) as tune:
        tune.append("finished", {})
    with pytest.raises(NotFoundError):
        store.latest("job")


def test_tunes_are_listed_oldest_first_and_strangers_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("x")
    store = Store(tmp_path)
    paths = []
    for _ in range(3):
        with store.create("../../etc/x y", "job", COMMAND) as tune:
            paths.append(tune.path)
    assert {summary.path for summary in store.tunes()} == set(paths)
    assert all(path.parent == tmp_path for path in paths)
    assert store.tunes()[0].command == COMMAND


def test_a_store_that_cannot_be_made_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NoRoomError) as caught:
        Store(tmp_path / "file" / "store").create("lmp", "job", COMMAND)
    assert "--store" in caught.value.hint


def test_a_read_only_home_is_an_error_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(NoRoomError, match="Permission denied"):
        Store(tmp_path / "store").create("lmp", "job", COMMAND)


_FILL = """
import resource, signal, sys
from pathlib import Path
from mpiric.model.errors import NoRoomError
from mpiric.tuning.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tune = Store(Path({root!r})).create("lmp", "job", ("lmp",))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # the disk ends in the middle of a line
try:
    for number in range(100):
        tune.append("note", {{"number": number, "text": "x" * 150}})
except NoRoomError as error:
    assert "the disk is full" in error.message, error.message
    assert "--store" in error.hint
    sys.exit(7)
"""


def test_a_disk_that_fills_up_leaves_only_whole_lines(tmp_path: Path) -> None:
    code = _FILL.format(root=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
    store = Store(tmp_path)
    data = (store.tunes()[0].path / "events.jsonl").read_bytes()
    assert len(data) < 2000
    assert data.endswith(b"\n")
    assert store.tunes()[0].damaged_lines == 0
    store.resume(store.tunes()[0].path).close()


_WRITE_FOR_EVER = """
from pathlib import Path
from mpiric.tuning.store import Store
tune = Store(Path({root!r})).create("lmp", "job", ("lmp",))
print("ready", flush=True)
while True:
    tune.append("note", {{"text": "x" * 3000}})
"""


def test_kill_9_loses_nothing_and_leaves_no_lock(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITE_FOR_EVER.format(root=str(tmp_path))], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    store = Store(tmp_path)
    path = store.tunes()[0].path
    while (path / "events.jsonl").stat().st_size < 20_000:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with store.resume(path) as tune:
        tune.append_trial(_trial(1))
        log = tune.read()
    assert len(log.events) >= 6
    assert log.trials == (_trial(1),)
    assert log.damaged_lines <= 1


def test_a_lock_of_another_host_is_respected(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.create("lmp", "job", COMMAND).close()
    path = store.tunes()[0].path
    (path / "lock").write_text('{"host": "elsewhere", "pid": 1, "started": 1.0, "token": "x"}')
    with pytest.raises(MpiricError, match="elsewhere") as caught:
        store.resume(path)
    assert str(path / "lock") in caught.value.hint


@pytest.mark.parametrize(("mine", "free"), [
    ("mpiric-app", True),  # the job after an array, which has ended
    ("mpiric-app-1-1.", True),  # the element itself, begun again
    ("mpiric-app-1-10.", False),
    ("", False),
])  # fmt: skip
def test_a_job_takes_over_a_lock_that_only_a_dead_job_can_hold(
    monkeypatch, tmp_path: Path, mine, free
) -> None:
    monkeypatch.setenv("MPIRIC_SUBMISSION", mine)
    held = '{"host": "elsewhere", "pid": 1, "started": 1.0, "submission": "mpiric-app-1-1."}'
    (tmp_path / "lock").write_text(held)
    assert (Lock.holder(tmp_path / "lock") == "") is free


def test_a_reused_process_number_does_not_hold_a_lock(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.create("lmp", "job", COMMAND).close()
    path = store.tunes()[0].path
    host = os.uname().nodename
    (path / "lock").write_text(f'{{"host": "{host}", "pid": {os.getpid()}, "started": 5.0, "token": "x"}}')
    store.resume(path).close()
    assert not (path / "lock").exists()


_CONTEND = """
import sys
from pathlib import Path
from mpiric.model.errors import MpiricError
from mpiric.tuning.store import Store
try:
    log = Store(Path({root!r})).resume(Path({path!r}))
except MpiricError:
    sys.exit(3)
sys.stdin.read()
log.close()
"""


def test_of_many_that_take_over_a_dead_lock_at_once_one_wins(tmp_path: Path, eventually) -> None:
    store = Store(tmp_path)
    store.create("lmp", "job", COMMAND).close()
    path = store.tunes()[0].path
    (path / "lock").write_text(f'{{"host": "{os.uname().nodename}", "pid": 999999999, "started": 5.0}}')
    code = _CONTEND.format(root=str(tmp_path), path=str(path))
    crowd = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) for _ in range(6)]
    assert eventually(lambda: [process.poll() for process in crowd].count(3) == 5)
    for process in crowd:
        process.communicate()  # the winner holds its lock until its input ends
    assert sorted(process.returncode for process in crowd) == [0, 3, 3, 3, 3, 3]


@pytest.mark.parametrize(("mine", "is_taken"), [("mpiric-a", True), ("mpiric-b", False), ("", False)])
def test_a_job_that_was_begun_again_elsewhere_takes_over_its_own_lock(mine, is_taken, tmp_path, monkeypatch):
    held = {"host": "another", "pid": 1, "started": 1.0, "token": "x", "submission": "mpiric-a"}
    (tmp_path / "lock").write_text(json.dumps(held))
    monkeypatch.setenv("MPIRIC_SUBMISSION", mine)
    assert (Lock.holder(tmp_path / "lock") == "") is is_taken

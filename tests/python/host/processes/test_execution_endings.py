"""Launches that do not end by themselves: whatever happens, no process stays behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from mpiric.host.processes.execution import Runner
from mpiric.host.processes.keeper import MARK
from mpiric.host.processes.proc import carrying, environment_of
from mpiric.model.run import Outcome

STUBBORN = "trap '' TERM HUP INT; while :; do sleep 600; done"
DAEMON = (
    "import os, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        time.sleep(600)\n"
    "    os._exit(0)\n"
)
DRIVER = """
import os, sys
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.job import Launch
with Runner(grace_s=1.0) as runner:
    path = sys.argv[1]
    launch = Launch(tuple(sys.argv[2:]), "")
    execution = runner.execute(launch, dict(os.environ), Workspace(path, path + "/out", path + "/err"), None)
    print(execution.outcome.value)
"""


@pytest.fixture
def driver(bench):
    """Starts a separate mpiric that runs a launch; the test may kill it."""
    started = []

    def start(*argv: str) -> subprocess.Popen[str]:
        environment = {**bench.environment, "MPIRIC_TEST_TAG": bench.tag}
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(DRIVER), str(bench.path), *argv],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def of_the_launch(bench, driver_process) -> list[int]:
    """Processes of the launch itself: the driver and a keeper just being forked carry the tag too."""
    mark = f"{driver_process.pid}.".encode()
    return [pid for pid in bench.alive() if environment_of(pid).get(MARK.encode(), b"").startswith(mark)]


def test_a_hanging_program_is_timed_out(bench):
    execution = bench.run("sleep", "600", limit_s=0.3)
    assert (execution.outcome, execution.reason) == (Outcome.TIMED_OUT, "did not end within 0.3 s")


def test_a_program_that_ignores_sigterm_is_killed(bench):
    execution = bench.run("sh", "-c", STUBBORN, limit_s=0.3)
    assert (execution.exit_status, bench.alive()) == (-signal.SIGKILL, [])


def test_a_stopped_program_is_ended(bench):
    bench.run("sh", "-c", "kill -STOP $$", limit_s=0.3)
    assert bench.alive() == []


def test_a_daemon_that_left_its_session_is_ended(bench):
    bench.python(DAEMON + "time.sleep(600)\n", limit_s=0.5)
    assert bench.alive() == []


def test_a_daemon_that_outlives_a_good_end_is_ended_and_named(bench):
    execution = bench.python(DAEMON)
    assert (execution.outcome, len(execution.strays), bench.alive()) == (Outcome.OK, 1, [])


@pytest.fixture
def interrupted(bench, eventually):
    """Runs a script that makes the file `ready`, presses Ctrl-C then, and gives it all the time it wants."""

    def run(*argv):
        def press():
            eventually((bench.path / "ready").exists)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        with Runner(grace_s=120.0) as bench.runner:
            return bench.run(*argv, limit_s=None)

    return run


def test_shared_memory_of_the_launch_is_removed_and_that_of_others_stays(bench, interrupted):
    segment, other = (Path(f"/dev/shm/mpich_shm_{os.getpid():x}{kind}_0") for kind in "ab")
    script = f"""
import mmap, time
with open({str(segment)!r}, "w+b", buffering=0) as file:
    file.write(bytes(4096))
    memory = mmap.mmap(file.fileno(), 4096)
open({str(other)!r}, "w").close()  # as another launch would, before it is opened again
open("ready", "w").close()
time.sleep(600)
"""
    try:
        interrupted(sys.executable, "-c", script)
        assert [path.exists() for path in (segment, other)] == [False, True]
    finally:
        for path in (segment, other):
            path.unlink(missing_ok=True)


CLEANS_UP = "trap 'echo cleaned; exit 3' TERM; touch ready; while :; do sleep 0.05; done"


def test_a_launcher_gets_sigterm_before_it_is_killed(bench, interrupted):
    assert interrupted("sh", "-c", CLEANS_UP).outcome is Outcome.INTERRUPTED
    assert bench.stdout == "cleaned\n"


def test_a_launcher_inside_a_script_gets_sigterm_too(bench, interrupted):
    (bench.path / "inner.sh").write_text(CLEANS_UP)
    interrupted("sh", "-c", "sh inner.sh; echo never")
    assert bench.stdout == "cleaned\n"


def test_killing_mpiric_leaves_no_process(bench, driver, eventually):
    process = driver("sh", "-c", f"(setsid sleep 600 &); {STUBBORN}")
    assert eventually(lambda: len(of_the_launch(bench, process)) >= 3)
    process.kill()
    process.wait()
    assert eventually(lambda: not bench.alive())


def test_killing_the_keeper_ends_the_launch_and_tells(bench, eventually):
    results = {}
    thread = threading.Thread(
        target=lambda: results.update(end=bench.run("sh", "-c", STUBBORN, limit_s=None))
    )
    thread.start()
    assert eventually(bench.alive)
    os.kill(bench.runner._keeper.pid, signal.SIGKILL)
    thread.join(60)
    assert (results["end"].outcome, bench.alive()) == (Outcome.FAILED, [])


def test_after_a_killed_keeper_the_next_launch_gets_a_new_one(bench):
    bench.run("true")
    os.kill(bench.runner._keeper.pid, signal.SIGKILL)
    bench.runner._keeper.wait()
    assert bench.run("true").outcome is Outcome.OK


def test_killing_mpiric_and_keeper_together_ends_the_launch(bench, driver, eventually):
    process = driver("sleep", "600")
    assert eventually(lambda: of_the_launch(bench, process))
    (keeper,) = [int(pid) for pid in _children(process.pid)]
    os.kill(process.pid, signal.SIGSTOP)  # so that it cannot help
    os.kill(keeper, signal.SIGKILL)
    process.kill()
    process.wait()
    assert eventually(lambda: not bench.alive())


def test_processes_that_ignore_sigterm_are_ended_by_the_next_mpiric(bench, driver, eventually):
    process = driver("sh", "-c", STUBBORN)
    assert eventually(lambda: len(of_the_launch(bench, process)) >= 2)
    (keeper,) = [int(pid) for pid in _children(process.pid)]
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    process.kill()
    process.wait()
    assert bench.alive()
    bench.run("true")
    assert eventually(lambda: not bench.alive())


def test_the_launch_of_another_living_mpiric_is_left_alone(bench, driver, eventually):
    process = driver("sleep", "600")
    assert eventually(lambda: of_the_launch(bench, process))
    bench.run("true")
    assert of_the_launch(bench, process)


def test_ctrl_c_ends_the_launch_and_comes_back_as_interrupted(bench, driver, eventually):
    process = driver("sleep", "600")
    assert eventually(lambda: of_the_launch(bench, process))
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n"


def test_ctrl_c_twice_does_not_wait_for_the_grace(bench, driver, eventually):
    process = driver("sh", "-c", STUBBORN)
    assert eventually(lambda: of_the_launch(bench, process))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n"
    assert bench.alive() == []


def test_processes_are_found_by_their_environment():
    process = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "A_TAG": "x y"})
    try:
        assert carrying("A_TAG", "x y") == [process.pid]
    finally:
        process.kill()
        process.wait()


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

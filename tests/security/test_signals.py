"""A signal to mpiric has the same effect on launcher and ranks as without mpiric, and nothing remains."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.users import USERS

pytestmark = [pytest.mark.requires(*USERS, "gcc"), pytest.mark.newest_only]

SOURCE = Path(__file__).parents[1] / "system/runtime_programs/received_signals.c"
MPIRIC = Path(sys.executable).with_name("mpiric")
WAIT_S = 120
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
# Remains of ranks that a signal ended.
LEFT_BY_LIBRARIES = (
    "/dev/shm/mpich_shm_",
    "/tmp/hydra_hwloc_xmlfile_",
)
VERBS = {"run": ("--no-recipe",), "profile": ("--quiet", "-o", "record")}


@pytest.fixture(autouse=True)
def hangup_is_not_ignored():
    """Programs started under nohup inherit that SIGHUP is ignored, with and without mpiric."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def wait_for(condition, what):
    until = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)
    return value


class Owner:
    """A user with the program that notes signals, compiled for one MPI library."""

    def __init__(self, people, mpi):
        self.user, self.mpi = people.owner, mpi
        self.program, self.notes = self.user.home / SOURCE.stem, self.user.home / "notes"
        self.user.run(mpi.compilers["c"], "-o", self.program, SOURCE, check=True, env=mpi.environment)
        paths = {"PATH": ":".join((*mpi.search_path, self.user.environment["PATH"]))}
        self.environment = {**mpi.environment, **paths}

    def line(self, *arguments):
        return [self.mpi.launcher, "-n", "2", self.program, self.notes, *arguments]

    def start(self, *arguments, **session):
        """Start a command in a process group of its own; its ranks are ready when this returns.

        ``session``: options of Popen; without any the command also has a session of its own.
        """
        self.user.run("rm", "-rf", self.notes, check=True)
        self.user.run("mkdir", self.notes, check=True)
        process = subprocess.Popen(
            self.user.words(
                "/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.user.home, *arguments
            ),
            env={**self.user.environment, **self.environment},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **(session or {"start_new_session": True}),
        )
        wait_for(lambda: len([*self.notes.glob("ready-*")]) == 2 or process.poll() is not None, "two ranks")
        assert process.poll() is None, process.communicate()
        return process

    def processes(self):
        """Pid, parent, state and command line of this user's processes that have not ended."""
        results = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdecimal() and entry.stat().st_uid == self.user.uid:
                    state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                    command = (entry / "cmdline").read_bytes()
                    results += [] if state in "ZX" else [(int(entry.name), int(parent), state, command)]
        return results

    def stopped(self, pid):
        """Return whether a command, its launchers and its ranks are stopped, as three lists."""
        processes = self.processes()
        commands = {number: command for number, _, _, command in processes}
        of_command = commands.get(pid, b"")
        launchers = [pid]
        if b"/mpiric-python\0" in of_command:  # `run` becomes the launcher, other verbs start it
            launchers = [n for n, parent, _, command in processes if parent == pid and command != of_command]
        ranks = os.fsencode(f"{self.program}\0")
        return (
            [state == "T" for number, _, state, _ in processes if number == pid],
            [state == "T" for number, _, state, _ in processes if number in launchers],
            sorted(state == "T" for _, _, state, command in processes if command.startswith(ranks)),
        )


@pytest.fixture
def owner(people, mpi):
    result = Owner(people, mpi)
    yield result
    with suppress(OSError):
        result.user.run("kill", "-KILL", "--", "-1")


def effect(owner, command, number, to_group):
    """Return the status of a command that received a signal, and the signals received by its ranks."""
    before = owner.user.machine.names()
    process = owner.start(*command)
    (os.killpg if to_group else os.kill)(process.pid, number)
    _, stderr = process.communicate(timeout=WAIT_S)
    assert "Traceback" not in stderr
    wait_for(lambda: not owner.processes(), "the end of all processes")
    signals = {path.name: set(path.read_text().split()) for path in owner.notes.glob("rank-*")}
    status = 128 - process.returncode if process.returncode < 0 else process.returncode  # status of a shell
    remaining = owner.user.machine.names() - before
    assert not [name for name in remaining if not name.startswith(LEFT_BY_LIBRARIES)]
    return status, signals


CASES = [*((number, False) for number in ENDING), (signal.SIGINT, True)]
LONG_CASES = [*((number, True) for number in ENDING if number != signal.SIGINT), (signal.SIGUSR2, False)]


def name(value):
    return value.name if isinstance(value, signal.Signals) else ("alone", "group")[value]


@pytest.mark.parametrize(("number", "to_group"), [
    *CASES, *(pytest.param(*case, marks=pytest.mark.sweep) for case in LONG_CASES)
], ids=name)  # fmt: skip
def test_a_signal_has_the_effect_that_it_has_without_mpiric(owner, number, to_group):
    expected = effect(owner, owner.line(), number, to_group)
    for verb, options in VERBS.items():
        command = (MPIRIC, verb, *options, "--", *owner.line())
        assert effect(owner, command, number, to_group) == expected, verb


def settled(condition, unchanged_s=2.0):
    """Return the value of a condition once it has not changed for some time."""
    value, since = condition(), time.monotonic()
    while time.monotonic() - since < unchanged_s:
        time.sleep(0.05)
        if (new := condition()) != value:
            value, since = new, time.monotonic()
    return value


def stop_and_continue(owner, command, to_group, expected=None):
    """Send SIGTSTP, SIGCONT and SIGTERM to a command; return the stopped processes and the final status."""
    # The kernel ignores SIGTSTP for a process group without a parent in its session.
    process = owner.start(*command, process_group=0)
    send = os.killpg if to_group else os.kill

    def state():
        return owner.stopped(process.pid)

    running = state()
    send(process.pid, signal.SIGTSTP)
    stopped = settled(state) if expected is None else expected[0]
    wait_for(lambda: state() == stopped, f"the state {stopped}")
    send(process.pid, signal.SIGCONT)
    wait_for(lambda: state() == running, "all to go on")
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=WAIT_S)
    wait_for(lambda: not owner.processes(), "the end of all processes")
    status = 128 - process.returncode if process.returncode < 0 else process.returncode
    return stopped, status


@pytest.mark.parametrize("to_group", [False, True], ids=name)
def test_a_command_stops_and_continues_as_without_mpiric(owner, to_group):
    expected = stop_and_continue(owner, owner.line(), to_group)
    for verb, options in VERBS.items():
        command = (MPIRIC, verb, *options, "--", *owner.line())
        assert stop_and_continue(owner, command, to_group, expected) == expected, verb


@pytest.mark.parametrize(("number", "to_group", "status"), [
    pytest.param(signal.SIGINT, False, 130, marks=pytest.mark.sweep),
    pytest.param(signal.SIGINT, True, 130, marks=pytest.mark.sweep),
    (signal.SIGTERM, False, 143),
    pytest.param(signal.SIGTERM, True, 143, marks=pytest.mark.sweep),
    pytest.param(signal.SIGHUP, False, 129, marks=pytest.mark.sweep),
    (signal.SIGHUP, True, 129),
])  # fmt: skip
def test_a_tune_that_a_signal_has_ended_is_resumed(owner, number, to_group, status):
    options = ("tune", "--json", "--store", "store", "--try-all", "--only", "binding")
    command = (MPIRIC, *options, "--budget", "5m", "--", *owner.line("0.5"))
    process = owner.start(*command)
    wait_for(lambda: trials(owner), "a trial")
    (os.killpg if to_group else os.kill)(process.pid, number)
    _, stderr = process.communicate(timeout=WAIT_S)
    assert "Traceback" not in stderr
    assert (128 - process.returncode if process.returncode < 0 else process.returncode) == status
    wait_for(lambda: not owner.processes(), "the end of all processes")
    assert owner.user.machine.names() == set()
    logged = trials(owner)
    resumed = owner.user.mpiric(
        *options, "--resume", "--max-runs", logged + 2, "--", *owner.line("0.5"), env=owner.environment
    )
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["runs"] > logged
    assert owner.user.machine.names() == set()


def trials(owner):
    """Number of trials in the store."""
    logs = owner.user.home.glob("store/*/events.jsonl")
    return sum(line.count('"trial"') for log in logs for line in log.open())

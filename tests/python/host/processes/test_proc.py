"""Reading /proc."""

import os
import subprocess
import sys

import pytest

from mpiric.host.processes.proc import (
    children,
    descendants,
    environment_of,
    is_alive,
    name_of,
    program_of,
    read_stat,
    signal_one,
)


@pytest.fixture
def child():
    process = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "MARKED": "a=b"})
    yield process
    process.kill()
    process.wait()


def test_a_child_is_found(child):
    assert child.pid in children(os.getpid())


def test_grandchildren_come_after_children():
    process = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        below = descendants(os.getpid())
        (grandchild,) = descendants(process.pid)
        assert below.index(process.pid) < below.index(grandchild)
    finally:
        os.kill(grandchild, 9)
        process.communicate()


def test_without_the_kernels_list_of_children_the_parents_are_read(child, monkeypatch):
    monkeypatch.setattr("mpiric.host.processes.proc._has_children_file", lambda: False)
    assert child.pid in descendants(os.getpid())


def test_the_parent_is_read_although_the_name_holds_brackets():
    rename = "import ctypes, time\nctypes.CDLL(None).prctl(15, b'a) R (b', 0, 0, 0)\n"
    text = rename + "print(flush=True)\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    process.stdout.readline()
    assert (name_of(process.pid), read_stat(process.pid).parent) == ("a) R (b", os.getpid())
    process.kill()
    process.communicate()


def test_a_value_may_hold_an_equals_sign(child):
    assert environment_of(child.pid)[b"MARKED"] == b"a=b"


def test_the_executable_is_named(child):
    assert program_of(child.pid).rsplit("/", 1)[-1] in {"sleep", "coreutils", "busybox"}


def test_a_process_that_waits_to_be_reaped_is_not_alive():
    process = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(process.pid)
    process.communicate()


def test_an_ended_process_reads_as_nothing():
    process = subprocess.Popen(["true"])
    process.wait()
    assert (read_stat(process.pid), program_of(process.pid), environment_of(process.pid)) == (None, "", {})


def test_a_signal_to_an_ended_process_is_not_an_error():
    process = subprocess.Popen(["true"])
    process.wait()
    signal_one(process.pid, 15)

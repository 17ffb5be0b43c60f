import subprocess
import sys
import time

import pytest

from mpiric.host.processes.process_state import place_of, process_state

PYTHON = sys.executable


@pytest.fixture
def started():
    processes = []

    def start(code: str, **options):
        process = subprocess.Popen([PYTHON, "-S", "-c", f"print(1, flush=True)\n{code}"],
                                   stdout=subprocess.PIPE, **options)  # fmt: skip
        processes.append(process)
        process.stdout.read(2)
        time.sleep(0.1)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_a_process_that_waits_for_input_is_seen(started):
    state = process_state(started("import os; os.read(0, 1)", stdin=subprocess.PIPE).pid)
    assert (state.state, state.system_call) == ("S", "read")
    assert state.file.startswith("standard input (pipe:")
    assert state.reads_standard_input


def test_a_process_that_reads_another_file_does_not_wait_for_input(started):
    state = process_state(started("import os; os.read(os.pipe()[0], 1)").pid)
    assert state.system_call == "read"
    assert not state.reads_standard_input


def test_the_position_of_a_running_process_needs_a_stop(started):
    process = started("while True: pass")
    assert process_state(process.pid).place == ""
    assert "+0x" in process_state(process.pid, may_stop=True).place
    time.sleep(0.05)
    assert process_state(process.pid).state == "R"


def test_a_process_that_has_ended_has_no_state(started):
    process = started("")
    process.wait()
    assert process_state(process.pid) is None


def test_a_place_is_a_file_and_an_offset():
    modules = [(0x1000, 0x3000, "/app"), (0x5000, 0x6000, "/lib.so")]
    assert place_of(0x2010, modules) == "/app+0x1010"
    assert place_of(0x4000, modules) == ""

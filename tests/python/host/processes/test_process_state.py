import os
import socket
import subprocess
import sys
import time

import pytest

from mpiric.host.processes.process_state import launch_states, place_of, process_state

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


PROGRAM = """
#include <unistd.h>
__attribute__((noinline)) void solve(void) { for (;;) { pause(); __asm__ volatile(""); } }
int main(void) { write(1, "1\\n", 2); solve(); return 0; }
"""


def test_a_program_that_waits_in_the_c_library_has_its_own_place(tmp_path):
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", tmp_path / "app.c", "-o", tmp_path / "app"], check=True)
    with subprocess.Popen([tmp_path / "app"], stdout=subprocess.PIPE) as process:
        process.stdout.read(2)
        time.sleep(0.1)
        state = process_state(process.pid)
        process.kill()
    assert state.place.startswith(f"{tmp_path}/app+0x")
    assert [call.partition("+")[0].rpartition("/")[2] for call in state.calls] == ["libc.so.6"]


CONNECTS = """
import socket
listener = socket.create_server(('127.0.0.1', {port}), backlog=0)
for _ in range(4):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(listener.getsockname())
    globals()[str(one.fileno())] = one
import os; os.read(os.pipe()[0], 1)
"""


def test_a_connection_without_an_answer_is_seen(started):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = started(CONNECTS.format(port=port))
    time.sleep(0.3)
    assert process_state(process.pid).connects_to == f"127.0.0.1 port {port}"


def test_a_process_without_connections_waits_for_no_answer(started):
    assert process_state(started("import os; os.read(os.pipe()[0], 1)").pid).connects_to == ""


def test_ranks_are_found_by_their_variables(started):
    ranks = [
        started("while True: pass", env={"PMI_RANK": str(number)} | os.environ).pid for number in range(2)
    ]
    states = launch_states([*ranks, os.getpid()], {})
    assert {key: "+0x" in state.place for key, state in states.items()} == {"0": True, "1": True}


STALE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int compare(const void* a, const void* b) { return *(int*)a - *(int*)b; }
__attribute__((noinline)) static void deep(void) {
    char text[64]; int n[64];
    for (int i = 0; i < 64; i++) n[i] = -i;
    qsort(n, 64, sizeof *n, compare); snprintf(text, 64, "%g %d", 1.5, n[0]); getenv(text);
}
int main(void) { deep(); puts("1"); fflush(stdout); int x; return scanf("%d", &x); }
"""


def test_old_words_on_the_stack_are_not_callers(tmp_path):
    (tmp_path / "app.c").write_text(STALE)
    subprocess.run(["cc", "-O1", tmp_path / "app.c", "-o", tmp_path / "app"], check=True)
    with subprocess.Popen([tmp_path / "app"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.read(2)
        time.sleep(0.1)
        state = process_state(process.pid)
        process.kill()
    symbols = subprocess.run(["nm", "-S", tmp_path / "app"], capture_output=True, text=True, check=True)
    begin, size = next(line.split()[:2] for line in symbols.stdout.splitlines() if line.endswith(" main"))
    offset = int(state.place.partition("+")[2], 16)
    assert int(begin, 16) < offset <= int(begin, 16) + int(size, 16)

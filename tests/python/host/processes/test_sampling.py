"""What is seen of running processes from outside."""

import os

import pytest

from mpiric.model.trial import Outcome

BUSY = "import time\nwhile time.process_time() < {}: pass\n"


def test_a_program_without_launcher_is_seen_as_one_rank_without_number(bench):
    execution = bench.python(BUSY.format(0.4), observe=True)
    assert [rank.rank for rank in execution.ranks] == [None]


def test_nothing_is_looked_at_unless_asked(bench):
    assert bench.python(BUSY.format(0.2)).ranks == ()


def test_the_affinity_is_that_of_the_process(bench):
    one = min(os.sched_getaffinity(0))
    text = f"import os\nos.sched_setaffinity(0, [{one}])\n" + BUSY.format(0.4)
    assert bench.python(text, observe=True).ranks[0].cpus_allowed == (one,)


def test_cpu_time_after_the_last_look_is_included(bench):
    rank = bench.python(BUSY.format(0.7), observe=True).ranks[0]
    assert rank.user_s + rank.system_s >= 0.7


def test_threads_are_counted(bench):
    text = (
        "import threading, time\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(0.8,)).start()\n"
    )
    assert bench.python(text, observe=True).ranks[0].threads == 4


def test_switches_of_every_thread_are_counted(bench):
    text = (
        "import threading, time\n"
        "def naps():\n"
        "    for _ in range(300): time.sleep(0.002)\n"
        "thread = threading.Thread(target=naps); thread.start(); thread.join()\n"
    )
    assert bench.python(text, observe=True).ranks[0].voluntary_switches >= 300


def test_a_library_opened_later_is_seen(bench):
    text = (
        "import ctypes, time\nfrom pathlib import Path\n"
        "def wait(name):\n"
        "    while not Path(name).exists(): time.sleep(0.02)\n"
        "wait('looked at')\nctypes.CDLL('libz.so.1')\nwait('seen')\n"
    )

    def answer(ranks):
        (bench.path / "looked at").touch()
        if any("libz.so" in path for rank in ranks for path in rank.libraries):
            (bench.path / "seen").touch()

    assert bench.python(text, on_sample=answer).exit_status == 0
    assert (bench.path / "seen").exists()


def test_a_caller_is_told_while_the_program_runs(bench):
    told = []
    bench.python(BUSY.format(0.5), on_sample=told.append)
    assert any(ranks and ranks[0].program for ranks in told)


def test_an_error_of_the_callback_does_not_leave_the_launch_running(bench):
    def fail(ranks):
        raise ValueError

    with pytest.raises(ValueError):
        bench.python("import time\ntime.sleep(600)\n", on_sample=fail)
    bench.runner.close()
    assert bench.alive() == []


def test_after_an_error_of_the_callback_the_runner_is_good_for_the_next_launch(bench):
    def fail(ranks):
        raise ValueError

    with pytest.raises(ValueError):
        bench.python("import time\ntime.sleep(600)\n", on_sample=fail)
    assert bench.run("sh", "-c", "exit 5").exit_status == 5
    assert bench.run("true").outcome is Outcome.OK

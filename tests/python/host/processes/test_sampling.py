"""Observation of running processes through /proc."""

import os

import pytest

from mpiric.host.processes import sampling
from mpiric.host.processes.sampling import Sampler, Watched
from mpiric.model.run import Outcome

BUSY = "while time.process_time() < {}: pass\n"
WAIT = (
    "import time\nfrom pathlib import Path\n"
    "def wait(name='seen'):\n"
    "    while not Path(name).exists(): time.sleep(0.02)\n"
)


@pytest.fixture
def sampled(bench):
    """Runs Python that ends with `wait()` until a look from outside shows what is asked for."""

    def run(text, shows=lambda ranks: ranks):
        def look(ranks):
            if shows(ranks):
                (bench.path / "seen").touch()

        return bench.python(WAIT + text, on_sample=look, limit_s=240)

    return run


def test_a_program_without_launcher_is_seen_as_one_rank_without_number(sampled):
    assert [rank.rank for rank in sampled("wait()\n").ranks] == [None]


def test_ranks_are_sampled_only_on_request(bench):
    assert bench.python("import time\n" + BUSY.format(0.2)).ranks == ()


def test_the_affinity_is_that_of_the_process(sampled):
    first = min(os.sched_getaffinity(0))
    text = f"import os\nos.sched_setaffinity(0, [{first}])\nwait()\n"
    execution = sampled(text, lambda ranks: ranks and ranks[0].cpus_allowed == (first,))
    assert execution.ranks[0].cpus_allowed == (first,)


def test_cpu_time_after_the_last_look_is_included(sampled):
    rank = sampled("wait()\n" + BUSY.format(0.7)).ranks[0]
    assert rank.user_s + rank.system_s >= 0.7


def test_threads_are_counted(sampled):
    text = "import threading\nfor _ in range(3): threading.Thread(target=wait).start()\n"
    execution = sampled(text, lambda ranks: ranks and ranks[0].threads == 4)
    assert execution.ranks[0].threads == 4


def test_switches_of_every_thread_are_counted(sampled):
    text = (
        "import threading\n"
        "def naps():\n"
        "    for _ in range(300): time.sleep(0.002)\n"
        "thread = threading.Thread(target=naps); thread.start(); thread.join(); wait()\n"
    )
    assert sampled(text).ranks[0].voluntary_switches >= 300


def test_a_library_opened_later_is_seen(sampled, bench):
    text = "wait('looked at')\nimport ctypes\nctypes.CDLL('libz.so.1')\nwait()\n"

    def shows(ranks):
        (bench.path / "looked at").touch()
        return any("libz.so" in path for rank in ranks for path in rank.libraries)

    assert sampled(text, shows).exit_status == 0
    assert (bench.path / "seen").exists()


def test_a_caller_is_notified_while_the_program_runs(sampled):
    samples = []
    sampled("wait()\n", lambda ranks: samples.append(ranks) or (ranks and ranks[0].program))
    assert any(ranks and ranks[0].program for ranks in samples)


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


def test_an_exiting_process_without_memory_keeps_its_rank(monkeypatch):
    sampler, watched = Sampler(os.getpid(), {}, ("", "")), Watched(os.getpid())
    monkeypatch.setattr(sampling, "environment_of", lambda _: {b"PMI_RANK": b"3"})
    sampler._identify(watched, {}, 0.1)
    program = watched.program
    monkeypatch.setattr(sampling, "program_of", lambda _: "")
    monkeypatch.setattr(sampling, "environment_of", lambda _: {})
    sampler._identify(watched, {}, 0.2)
    assert (watched.rank, watched.program) == (3, program)


def test_a_process_sampled_during_exec_gets_its_rank_later(
    monkeypatch,
):
    sampler, watched = Sampler(os.getpid(), {}, ("", "")), Watched(os.getpid())
    monkeypatch.setattr(sampling, "environment_of", lambda _: {})
    sampler._identify(watched, {}, 0.1)
    monkeypatch.setattr(sampling, "environment_of", lambda _: {b"PMI_RANK": b"3"})
    sampler._identify(watched, {}, 0.2)
    assert watched.rank == 3

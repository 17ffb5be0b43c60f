"""Launches from which other processes take CPUs."""

import time

import pytest

from mpiric.host.processes import other_load
from mpiric.host.processes.other_load import LoadWatch, busy_cpu_s
from mpiric.model.run import Usage

BEFORE_S, SPAN_S = 1000.0, 10.0


@pytest.fixture
def watch() -> LoadWatch:
    return LoadWatch(time.monotonic() - SPAN_S, BEFORE_S, time.process_time())


@pytest.mark.parametrize(
    ("others_s", "preemptions", "is_disturbed"),
    [
        (5.0, 1000, True),
        (0.2, 1000, False),  # it takes its CPUs from itself: more threads than CPUs
        (5.0, 10, False),  # others have CPUs of their own
    ],
)
def test_a_launch_is_disturbed_when_others_work_and_it_is_preempted(
    watch, monkeypatch, others_s, preemptions, is_disturbed
):
    monkeypatch.setattr(other_load, "busy_cpu_s", lambda: BEFORE_S + 18.0 + others_s)
    usage = Usage(user_s=16.0, system_s=2.0, involuntary_switches=preemptions)
    assert watch.is_disturbed(usage) == is_disturbed


def test_without_accounts_of_the_kernel_nothing_is_called_disturbed(watch, monkeypatch):
    monkeypatch.setattr(other_load, "busy_cpu_s", lambda: None)
    assert not watch.is_disturbed(Usage(involuntary_switches=10**6))


def test_the_cpu_time_of_the_node_grows(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    monkeypatch.setattr(other_load, "_PROC_STAT", str(stat))
    stat.write_text("cpu  100 20 30 4000 5 6 7 8 90 10\ncpu0 1 2\n")
    ticks = 100 + 20 + 30 + 6 + 7 + 8  # neither idle nor guest times, which are part of user and nice
    assert busy_cpu_s() == pytest.approx(ticks / 100, rel=0.5)
    stat.write_text("something else\n")
    assert busy_cpu_s() is None

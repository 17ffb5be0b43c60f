"""A launch that ends before its program does, by itself or by the keeper."""

import time

import pytest

from mpiric.host.processes.request import EarlyEnd
from mpiric.model.run import Outcome


@pytest.fixture
def marked(bench):
    """An early end when the program has made the file ``mark``."""
    return EarlyEnd((bench.path / "mark").exists, every_s=0.01)


def test_a_launch_is_ended_once_all_is_known(bench, marked):
    execution = bench.run("sh", "-c", "echo before; touch mark; sleep 60; echo after", early_end=marked)
    assert (execution.outcome, execution.came_early) == (Outcome.OK, True)
    assert bench.stdout == "before\n"
    assert execution.wall_s < 30
    assert not bench.alive()


def test_a_launch_that_ends_at_its_mark_is_ok_with_any_status(bench, marked):
    marked.patience_s, marked.ends_itself = 60, True
    execution = bench.run("sh", "-c", "touch mark; exit 7", early_end=marked)
    assert (execution.outcome, execution.exit_status, execution.came_early) == (Outcome.OK, 7, True)


def test_a_launch_that_fails_before_its_mark_has_failed(bench, marked):
    execution = bench.run("sh", "-c", "exit 7", early_end=marked)
    assert (execution.outcome, execution.came_early) == (Outcome.FAILED, False)


def test_a_launch_that_never_comes_to_its_mark_runs_to_its_end(bench, marked):
    execution = bench.run("sh", "-c", "sleep 0.2; echo end", early_end=marked)
    assert (execution.outcome, execution.came_early, bench.stdout) == (Outcome.OK, False, "end\n")


def test_a_launch_that_hangs_before_its_mark_meets_its_limit(bench, marked):
    execution = bench.run("sleep", "60", early_end=marked, limit_s=0.3)
    assert execution.outcome is Outcome.TIMED_OUT


def test_a_program_that_ignores_the_request_is_killed(bench, marked):
    execution = bench.run(
        "sh", "-c", "trap '' TERM; touch mark; while :; do sleep 0.1; done", early_end=marked
    )
    assert (execution.outcome, execution.came_early) == (Outcome.OK, True)
    assert not bench.alive()


def test_the_next_launch_after_an_early_end_is_as_ever(bench, marked):
    bench.run("sh", "-c", "touch mark; sleep 60", early_end=marked)
    execution = bench.run("sh", "-c", "echo next; exit 3")
    assert (execution.outcome, execution.came_early, bench.stdout) == (Outcome.FAILED, False, "next\n")


def test_an_execution_says_when_it_was_started(bench):
    before_ns = time.monotonic_ns()
    assert before_ns <= bench.run("true").started_ns <= time.monotonic_ns()

"""Marks in a growing output: seen whole lines only, counted once, cut behind the last."""

import time

import pytest

from mpiric.lab.output_follower import OutputFollower, PairFollower
from mpiric.model.pace import MarkKey, MarkPair, MarksState


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "1.stdout"

    def write(text):
        with path.open("a") as file:
            file.write(text)

    write.path = path
    return write


def pair(pattern, first, last):
    return MarkPair(MarkKey("stdout", pattern, 0, 0), first, last)


def test_a_line_counts_when_it_is_whole(output):
    follower = OutputFollower(output.path)
    assert not follower.look()
    output("one\ntw")
    assert follower.look()
    assert [line for _, line in follower.lines] == [b"one"]
    output("o\n")
    assert follower.look()
    assert not follower.look()
    assert [line for _, line in follower.lines] == [b"one", b"two"]


def test_a_run_has_come_when_its_last_mark_is_printed(output):
    follower = PairFollower(output.path, pair("^step", 2, 4))
    started_ns = time.monotonic_ns()
    for number in range(3):
        output(f"step {number}\nmore\n")
        assert not follower.has_come()
    output("step 3\nstep 4\nlast words\n")
    assert follower.has_come()
    run = follower.marks(started_ns)
    (rank,) = run.ranks
    assert (rank.first.calls, rank.last.calls) == (3, 7)
    assert 0 < rank.first.at_s < rank.last.at_s
    assert rank.state is MarksState.ENDED
    assert output.path.read_text() == "step 0\nmore\nstep 1\nmore\nstep 2\nmore\nstep 3\n"
    assert rank.last.bytes == output.path.stat().st_size


def test_a_run_that_ends_before_its_last_mark_keeps_its_output(output):
    follower = PairFollower(output.path, pair("^step", 2, 4))
    output("step 0\nstep 1\nend\n")
    (rank,) = follower.marks(time.monotonic_ns()).ranks
    assert (rank.last, rank.calls, rank.state) == (None, 2, MarksState.RUNNING)
    assert output.path.read_text() == "step 0\nstep 1\nend\n"


def test_bytes_are_marks_without_any_line(output):
    follower = PairFollower(output.path, pair("", 10, 20))
    output("." * 12)
    assert not follower.has_come()
    output("." * 12)
    assert follower.has_come()
    (rank,) = follower.marks(time.monotonic_ns()).ranks
    assert (rank.first.bytes, rank.last.bytes) == (10, 20)
    assert output.path.read_text() == "." * 20

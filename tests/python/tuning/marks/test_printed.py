import re

import pytest

from mpiric.lab.output_follower import BYTES, Printed, choose_printed, kind_of_line, printed_pace


def printed(lines, seen_s):
    growth, size = [], 0
    for at_s, line in lines:
        size += len(line) + 1
        growth.append((at_s, size))
    return Printed(seen_s, lines, growth)


def every(seconds, text, count):
    return [(number * seconds, text % number) for number in range(count)]


@pytest.mark.parametrize("line", [b"step 7 energy -1.5e3", b"  12  0.5 nan", b"a (b) [c] $ 1", b"word"])
def test_the_kind_of_a_line_matches_it_and_lines_with_other_numbers(line):
    kind = re.compile(kind_of_line(line))
    assert kind.search(line.decode())
    assert kind.search(re.sub(r"\d", "4", line.decode()))
    assert not kind.search("another " + line.decode())


def test_of_lines_that_come_evenly_the_rarest_count():
    often, seldom = every(0.1, b"inner %d", 1000), every(1.0, b"step %d: ok", 100)
    choice = choose_printed(printed_pace(printed(sorted(often + seldom), 100.0)))
    assert choice.key.place == kind_of_line(b"step 1: ok")


def test_without_lines_that_come_evenly_bytes_do():
    dots = Printed(100.0, [], [(number * 1.0, number + 1) for number in range(100)])
    choice = choose_printed(printed_pace(dots))
    assert choice.key == BYTES
    pace = printed_pace(dots).first_rank.of(BYTES)
    assert pace.time_of(51) == pytest.approx(50.0)


def test_lines_printed_only_at_the_beginning_do_not_count_steps():
    assert choose_printed(printed_pace(printed(every(0.01, b"set-up %d", 100), 100.0))).key is None
    assert choose_printed(printed_pace(Printed(10.0, [], []))).key is None


def test_the_lines_of_a_pattern_are_counted():
    lines = sorted(every(0.1, b"inner %d", 100) + every(1.0, b"step %d", 10))
    choice = choose_printed(printed_pace(printed(lines, 10.0)))
    assert choice.key is not None
    key = BYTES.__class__("stdout", "^step", 0, 0)
    pace = printed_pace(printed(lines, 10.0), key).first_rank.of(key)
    assert (pace.calls, pace.time_of(10)) == (10, 9.0)

"""Input and summary of the benchmark of many ranks."""

import pytest
from benchmarks.many_ranks import check, finalize_ms, summary_of

from mpiric.model.errors import MpiricError


def test_finalize_begins_when_the_last_rank_has_entered(tmp_path) -> None:
    lines = tmp_path / "finalize"
    lines.write_text("10.000 10.500\n10.200 10.450\n")
    assert finalize_ms(lines) == pytest.approx(300)
    assert not lines.exists()


def test_a_record_that_lacks_a_message_is_refused() -> None:
    record = {"ranks": 2, "p2p": [[0, 1, 50, 51200], [1, 0, 50, 51200]]}
    check(record, 2)
    with pytest.raises(MpiricError):
        check({**record, "p2p": [[0, 1, 50, 51200], [1, 0, 49, 50176]]}, 2)


def test_the_summary_contains_the_overhead_of_the_merge_at_64_ranks() -> None:
    row = {"mpi": "mpich-5", "ranks": 64, "added_ms": 41.6, "profile_s": 3.0, "report_s": 1.5}
    summary = summary_of([{**row, "ranks": 16, "added_ms": 5.0}, row])
    assert "42 ms under mpich-5" in summary
    assert "4.5 s" in summary

"""Rows and summary of the benchmark of overhead."""

import pytest
from benchmarks.overhead import KINDS, named_paths, rows_of, summary_of

from mpiric.model.errors import NotFoundError

MODES = ["plain", "mpiric", "armed", "mpiP -k 0"]
ROUNDS = 9


def rows(added: dict[str, float]) -> dict[tuple[str, str], dict[str, object]]:
    """Times by call and mode: each mode adds so much to a plain call of 100 ns and the clock 10."""
    times = {(mode, kind): [100.0 + added.get(mode, 0.0)] * ROUNDS for mode in MODES for kind in KINDS}
    times["plain", "clock"] = [10.0] * ROUNDS
    counts = {(mode, kind): 50.0 if mode == "plain" else 80.0 for mode in MODES for kind in KINDS}
    return {(row["call"], row["mode"]): row for row in rows_of("mpich-5", MODES, times, counts)}


def test_overhead_is_the_difference_to_the_plain_run_of_the_round() -> None:
    row = rows({"mpiric": 30.0, "mpiP -k 0": 120.0})["Allreduce(self)", "mpiric"]
    assert (row["added_ns"], row["added_instructions"], row["of_mpip"]) == (30.0, 30.0, 0.25)


def test_a_timed_call_may_cost_two_readings_of_the_clock_and_twelve_ns_and_ten_if_it_counts_steps() -> None:
    measured = rows({})
    assert measured["Allreduce(self)", "mpiric"]["goal_ns"] == 42.0
    assert measured["Irecv+Send+Wait", "mpiric"]["goal_ns"] == 106.0
    assert measured["Comm_rank", "mpiric"]["goal_ns"] == 8.0


def test_armed_marks_only_cost_for_counted_or_digested_calls() -> None:
    goals = {call: row["goal_ns"] for (call, mode), row in rows({}).items() if mode == "armed"}
    assert goals == {"Comm_rank": 0.0, "Iprobe": 0.0, "Irecv+Send+Wait": 2.0, "Allreduce(self)": 62.0}


def test_the_summary_names_misses_of_the_goal() -> None:
    measured = list(rows({"mpiric": 50.0}).values())
    summary = summary_of(measured, {"mpich-5": 2100.0})
    assert "Allreduce(self) (mpiric) by 8.0 ns" in summary
    assert "Irecv" not in summary
    assert "memory under mpich-5 by 52 KiB" in summary


def test_a_path_is_named_for_a_library_and_mpichs_serves_intel_mpi(tmp_path) -> None:
    library = tmp_path / "libmpiP.so"
    library.touch()
    assert named_paths([f"mpich={library}"]) == {"mpich": str(library), "intelmpi": str(library)}
    with pytest.raises(NotFoundError):
        named_paths([str(library)])

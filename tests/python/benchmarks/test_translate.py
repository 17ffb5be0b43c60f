"""Rows and summary of the benchmark of translation."""

from benchmarks._translate_sides import c_name
from benchmarks.translate import LOAD, _row, later_starts


def test_overhead_is_the_median_of_the_differences_within_rounds() -> None:
    row = _row(
        "openmpi-5", "stand-in for mpich", "Comm_rank", [(2.0, 5.0), (3.0, 7.0), (40.0, 45.0)], (9, 30)
    )
    assert (row["ns"], row["added_ns"], row["goal_ns"], row["added_instructions"]) == (3.0, 4.0, 5.0, 21)


def test_a_message_may_cost_more_than_a_call_that_does_nothing() -> None:
    row = _row("openmpi-5", "stand-in for mpich", "Irecv+Send+Wait", [(80.0, 99.0)], (None, None))
    assert (row["goal_ns"], row["added_instructions"]) == (20.0, None)


def test_sides_whose_start_does_not_open_the_library_have_no_row_of_it_and_are_named() -> None:
    rows = [{"mpi": "m", "side": side, "call": call} for side in ("a", "b") for call in ("Iprobe", LOAD)]
    assert later_starts(rows) == ""
    assert later_starts(rows[:3]).endswith("in MPI_Init alone: b.")


def test_calls_are_found_by_the_names_of_functions() -> None:
    assert [c_name(call) for call in ("Irecv+Send+Wait", "Type_size(derived)")] == [
        "irecv_send_wait",
        "type_size_derived",
    ]

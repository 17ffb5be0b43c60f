"""What the benchmark of the translation says of its numbers."""

from types import SimpleNamespace

from benchmarks.translate import _row

MPICH, OPENMPI = (SimpleNamespace(mpi=SimpleNamespace(label=name)) for name in ("mpich-5", "openmpi-5"))


def test_what_is_added_is_the_median_of_the_differences_within_rounds() -> None:
    row = _row(OPENMPI, MPICH, "Comm_rank", [(2.0, 5.0), (3.0, 7.0), (40.0, 45.0)])
    assert (row["ns"], row["added_ns"], row["goal_ns"]) == (3.0, 4.0, 5.0)


def test_a_message_may_cost_more_than_a_call_that_does_nothing() -> None:
    assert _row(OPENMPI, MPICH, "Irecv+Send+Wait", [(80.0, 99.0)])["goal_ns"] == 20.0

"""The summary of the benchmark of `mpiric env`."""

from benchmarks.env import summary_of


def row(ratio):
    return {"program": "cg", "mpi": "mpich-5.0.2", "ranks": 4, "cpus": 2, "ratio": ratio}


def test_the_smallest_ratio_and_the_slower_rows_are_named():
    assert summary_of([row(3.0), row(0.9)]) == (
        "Smallest ratio 0.90; below 0.98: cg (mpich-5.0.2, 4 ranks, 2 CPUs)."
    )


def test_no_row_is_slower():
    assert summary_of([row(0.985), row(1.2)]).endswith("below 0.98: none.")

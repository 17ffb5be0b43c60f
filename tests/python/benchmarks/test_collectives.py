from math import isclose

from benchmarks._imb import lower_bound, parse_imb
from benchmarks.collectives import gains, geometric_mean, rows_of, summary_of

IMB = """
#----------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.04         0.05         0.04
            4         1000         1.10         1.30         1.20
         1000         1000         2.10         2.30         2.20

# Benchmarking Bcast
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         0.50         0.60         0.55
# All processes entering MPI_Finalize
"""


def test_imbs_tables_give_the_slowest_ranks_time() -> None:
    times = parse_imb(IMB)
    assert times["Allreduce", 4] == 1.3e-6
    assert times["Bcast", 4] == 0.6e-6
    assert len(times) == 4


def test_gains_are_of_pairs_with_odd_sizes_apart() -> None:
    measured_gains = gains([({4: 2.0, 8: 8.0, 12: 3.0}, {4: 1.0, 8: 1.0, 12: 6.0})] * 3, lambda _: 1.0)
    assert measured_gains is not None
    assert isclose(measured_gains["gain"] or 0, 4.0)
    assert measured_gains["worst"] == measured_gains["odd"] == 0.5
    assert measured_gains["worst_bytes"] == 12
    assert isclose(measured_gains["bound"] or 0, geometric_mean([1.0, 1.0, 6.0]))
    assert gains([], lambda _: 1.0) is None


def test_rows_come_from_rounds_that_both_ways_had() -> None:
    done = [
        {"collective": "Bcast", "way": "untuned", "round": 0, "seconds": {"4": 3.0}},
        {"collective": "Bcast", "way": "online", "round": 0, "seconds": {"4": 1.0}},
        {"collective": "Bcast", "way": "online", "round": 1, "seconds": {"4": 9.0}},
    ]
    (row,) = rows_of(done, ["Bcast", "Scatter"], lambda _, __: 1.0)
    assert (row["collective"], row["way"], row["rounds"]) == ("Bcast", "online", 1)
    assert isclose(row["gain"], 3.0)


def test_lower_bounds_are_those_of_the_table() -> None:
    assert isclose(lower_bound("Bcast", 4, 1000, 1e-6, 1e-9), 2e-6 + 1e-6)
    assert isclose(lower_bound("Allreduce", 4, 1000, 1e-6, 1e-9), 2e-6 + 1.5e-6)
    assert isclose(lower_bound("Alltoall", 4, 1000, 1e-6, 1e-9, share=2), 2e-6 + 12e-6)


def test_the_summary_goes_by_place_library_and_way() -> None:
    rows = [{"where": "fast", "mpi": "mpich-5.0.2", "way": "exported", "gain": gain} for gain in (1.0, 4.0)]
    assert "fast, mpich-5.0.2, exported: 2.00×" in summary_of(rows)

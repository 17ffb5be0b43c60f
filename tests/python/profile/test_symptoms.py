"""Symptoms before and after: sentences, and changes; parts of the time of a run."""

import pytest
from tests.support.records import cell, file, rank, record

from mpiric import knobs
from mpiric.profile.analyse import analyse
from mpiric.profile.efficiency import run_times
from mpiric.profile.numbers import symptom_changes, symptoms

NUMBERS = analyse(record(rank(0, 1.0, cell("MPI_Send", 1, 8, 0.1)), rank(1, 1.0))).numbers
OF_CLASSES = {"file_share"}  # numbers of functions that this record does not call
SHARES_OF_COLLECTIVES = {"allreduce_share", "gather_share"}


def change_of(name, before, after, **numbers):
    (change,) = symptom_changes([name], {**numbers, name: before}, {**numbers, name: after})
    return change


@pytest.mark.parametrize("name", sorted(symptoms()))
def test_a_symptom_is_a_number_of_profiles(name):
    assert name in {*NUMBERS, *OF_CLASSES, "collective_share"}


def test_every_symptom_of_a_knob_is_known_in_words():
    named = {name for knob in knobs.all_knobs().values() for name in knob.symptoms}
    unknown = named - set(symptoms())
    collectives = {name.removesuffix("-algorithm").replace("-", "_") for name in knobs.all_knobs()}
    assert {name.removesuffix("_share") for name in unknown} <= collectives


def test_before_and_after_are_reported_in_words():
    change = change_of("minor_faults_per_s", 232e3, 900.0, wall_s=1.0)
    assert change.noticed == "232,000 page faults per second and rank"
    assert change.afterwards == "900 page faults per second and rank"
    assert change.moved


def test_a_number_that_hardly_changes_has_not_moved():
    assert not change_of("mpi_share", 0.5, 0.45, wall_s=1.0).moved


def test_rates_are_compared_by_their_totals_because_the_tuned_run_is_shorter():
    before = {"minor_faults_per_s": 1000.0, "wall_s": 4.0}
    after = {"minor_faults_per_s": 1500.0, "wall_s": 1.0}
    (change,) = symptom_changes(["minor_faults_per_s"], before, after)
    assert change.moved
    assert change.noticed == "1,000 page faults per second and rank (4,000 in all)"
    assert change.afterwards == "1,500 page faults per second and rank (1,500 in all)"


def test_a_growing_share_is_reported_with_its_total_time():
    before, after = {"mpi_share": 0.022, "wall_s": 0.83}, {"mpi_share": 0.033, "wall_s": 0.33}
    (change,) = symptom_changes(["mpi_share"], before, after)
    assert change.noticed == "2.2 % of the time in MPI (0.0183 s)"
    assert change.afterwards == "3.3 % of the time in MPI (0.0109 s)"


def test_some_numbers_should_grow():
    assert change_of("huge_share", 0.0, 0.9).moved
    assert not change_of("huge_share", 0.9, 0.1).moved


def test_numbers_independent_of_settings_explain_and_never_change():
    change = change_of("large_allocations_per_s", 20.0, 2.0, wall_s=1.0)
    assert change.noticed == "20 allocations of 128 KiB or more per second and rank"
    assert change.is_cause
    assert not change.moved


def test_numbers_missing_in_both_runs_are_not_reported():
    assert (
        symptom_changes(["io_share", "swapped"], {"io_share": 0.0}, {"io_share": 0.0, "swapped": 1.0}) == ()
    )


def test_a_single_collective_has_its_own_words():
    assert change_of("reduce_scatter_share", 0.5, 0.1).noticed == "50 % of the time in MPI_Reduce_scatter"


def test_the_parts_of_a_runs_time_add_up_to_the_run():
    facts = {"host": "n1", "affinity": "0", "time.system_us": "2000000"}
    run_record = record(
        rank(0, 10.0, cell("MPI_Allreduce", 1, 8, 7.0), facts=facts),
        rank(1, 8.0, cell("MPI_Allreduce", 1, 8, 1.0), facts=facts, files=(file("/x", write_s=1.0),)),
    )
    times = run_times(run_record, analyse(run_record), 12.0, end_s=0.5)
    parts = vars(times) if hasattr(times, "__dict__") else {}
    assert sum(parts.values()) == pytest.approx(12.0)
    assert (times.start_s, times.end_s) == (pytest.approx(1.5), 0.5)
    assert times.waiting_s == pytest.approx(3.0 + 1.0)  # 6 s of one rank, and 2 s after the other had ended
    assert times.moving_s == pytest.approx(1.0)
    assert times.kernel_s == pytest.approx(2.0)
    assert times.files_s == pytest.approx(0.5)


def test_an_end_that_is_not_known_counts_as_start_up():
    run_record = record(rank(0, 1.0))
    times = run_times(run_record, analyse(run_record), 3.0)
    assert (times.start_s, times.end_s) == (pytest.approx(2.0), None)

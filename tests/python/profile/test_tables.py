"""Tables for CSV and pandas."""

import csv

import pytest
from tests.support.records import cell, file, rank, record, sent

from mpiric.profile.analyse import analyse, compare
from mpiric.profile.tables import TABLES, rows, write_csv

RECORD = record(
    rank(0, 1.0, cell("MPI_Send", 5, 40, 0.1, size_bin=4), peers=(sent(1, 5, 40),), files=(file("/x"),)),
    rank(
        1,
        1.0,
        cell("MPI_Recv", 5, 40, 0.2, size_bin=4),
        facts={"thread.7": "a b cpu=1 affinity=0-1 user_ticks=2 system_ticks=3"},
    ),
)


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_table_have_the_same_columns(table):
    assert len({tuple(row) for row in rows(RECORD, table)}) <= 1


def test_calls_carry_their_communicator_and_the_bounds_of_their_size():
    row = rows(RECORD, "calls")[0]
    assert (row["function"], row["communicator"], row["low_bytes"], row["high_bytes"]) == (
        "MPI_Send",
        "MPI_COMM_WORLD",
        8,
        15,
    )


def test_a_thread_may_have_a_name_with_blanks():
    (row,) = rows(RECORD, "threads")
    assert (row["rank"], row["thread"], row["name"], row["cpu"], row["affinity"]) == (1, 7, "a b", 1, "0-1")


def test_csv_contains_the_rows(tmp_path):
    paths = {path.stem: path for path in write_csv(RECORD, tmp_path / "tables")}
    with paths["traffic"].open() as handle:
        assert list(csv.DictReader(handle)) == [
            {"rank": "0", "peer": "1", "kind": "message", "messages": "5", "bytes": "40"}
        ]
    assert "sites" not in paths


def test_a_comparison_is_per_rank_and_names_the_change():
    before = analyse(record(rank(0, 1.0, cell("MPI_Send", 5, 40, 0.1)), rank(1, 1.0)))
    after = analyse(record(rank(0, 1.0, cell("MPI_Send", 6, 40, 0.3))))
    comparison = compare(("a", before), ("b", after))
    (times,) = comparison.functions
    assert (times.before, times.after) == (pytest.approx(0.05), pytest.approx(0.3))
    assert [(c.name, c.before, c.after) for c in comparison.calls] == [("MPI_Send", 5, 6)]

"""Error rates of the rule for slow nodes, with few simulated runs."""

from argparse import Namespace

from benchmarks.nodes import measure


def test_no_equal_nodes_and_no_uneven_work_are_named_and_slow_nodes_are(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("benchmarks._kept_rows.RESULTS", tmp_path)
    result = measure(Namespace(runs=5, quick=False, resume=False, time_limit="1h"))
    rows = {(row["what"], row["noise"], row["nodes"]): row for row in result.rows}
    assert not any(row["named"] for row in result.rows if "uneven" in row["what"])
    assert rows["measured, equal nodes", "normal 1 %", 16]["named"] == 0
    assert rows["measured, 10% slower", "normal 1 %", 16]["named"] == 5
    assert rows["record, 10 % slower, CPU lost", "normal 1 %", 4]["named"] == 5
    assert rows["record, 10 % slower, fixed computation", "normal 1 %", 4]["named"] == 5
    assert rows["record, uneven: node with more work, fixed computation", "normal 1 %", 4]["open"] == 0
    assert rows["record, 10 % slower, no evidence", "normal 1 %", 4]["open"] == 5
    assert "called a slow node: 0 of" in result.summary

"""Counting false verdicts, and going on after an interruption."""

import json
from pathlib import Path

from benchmarks.proof_aa import hash_of, read_done, row_of, summary_of


def comparison(verdict: str = "no difference shown", pairs: int = 10) -> dict[str, object]:
    return {"program": "p", "verdict": verdict, "times_s": [[1.0, 1.0]] * pairs}


def test_both_directions_are_false_verdicts() -> None:
    row = row_of("p", [comparison(), comparison("faster"), comparison("slower")])
    assert (row["comparisons"], row["wrong"], row["pairs"]) == (3, 2, 30)


def test_three_hundred_clean_comparisons_reach_the_goal() -> None:
    assert "goal: at most 1%, reached" in summary_of(row_of("p", [comparison()] * 300))


def test_two_hundred_clean_comparisons_show_too_little() -> None:
    assert "not shown by so few" in summary_of(row_of("p", [comparison()] * 200))


def test_two_percent_of_false_verdicts_miss_it() -> None:
    done = [comparison()] * 294 + [comparison("faster")] * 6
    assert "missed" in summary_of(row_of("p", done))


def test_a_line_cut_short_is_compared_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(comparison()) + "\n" + json.dumps(comparison())[:20])
    assert read_done(log) == [json.loads(json.dumps(comparison()))]


def test_every_comparison_has_an_order_of_its_own() -> None:
    seeds = {hash_of(program, number) for program in ("heat3d", "pingpong") for number in range(300)}
    assert len(seeds) == 600

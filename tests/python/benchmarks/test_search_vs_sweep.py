"""Swept space, and budget of the searches."""

import pytest
from benchmarks.search_vs_sweep import budgets, is_near_best, row_of, summary_of, superfluous, within

from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.statistics.space import Dimension, SearchSpace

SPACE = SearchSpace(
    (
        Dimension("binding", ("core",)),
        Dimension("malloc", ("a", "b", "c")),
        Dimension("huge-pages", ("transparent",)),
        Dimension("unknown-to-the-sweep", ("x",)),
    )
)


def test_knobs_are_taken_in_order_while_the_space_is_small_enough() -> None:
    assert {d.knob for d in within(SPACE, 8).dimensions} == {"malloc", "huge-pages"}
    assert within(SPACE, 256).size == 16


def test_a_space_of_almost_nothing_is_refused() -> None:
    with pytest.raises(MpiricError, match="only 2"):
        within(SearchSpace((Dimension("binding", ("core",)),)), 256)


def test_a_search_gets_a_tenth_of_one_pass_and_another_a_tenth_of_all() -> None:
    assert budgets(192, 3) == {"search": 19, "search, longer": 57}


def test_the_loss_is_against_the_best_of_the_sweep() -> None:
    times = {"original": [2.0] * 20, "sweep": [1.0] * 20, "search": [1.01] * 20}
    rows = [row_of(name, Configuration(), times, 20, 200) for name in times]
    assert rows[2]["loss"] == pytest.approx(0.01)
    assert "search: +1.0% with 20 runs, 10% of a pass (within 2%)" in summary_of(rows, 200)


def test_a_setting_is_superfluous_when_the_sweep_is_as_fast_without_it() -> None:
    malloc, both = Configuration.of({"malloc": "a"}), Configuration.of({"malloc": "a", "binding": "core"})
    medians = {Configuration(): 2.0, Configuration.of({"binding": "core"}): 2.0, malloc: 1.005, both: 1.0}
    assert superfluous(both, medians) == 1
    assert superfluous(malloc, medians) == 0
    assert superfluous(Configuration.of({"malloc": "b"}), medians) is None


def test_near_the_best_of_the_sweep_is_within_the_goal() -> None:
    fast, near = Configuration.of({"malloc": "a"}), Configuration.of({"malloc": "b"})
    medians = {Configuration(): 2.0, fast: 1.0, near: 1.015}
    assert is_near_best(medians, near)
    assert not is_near_best(medians, Configuration())
    assert not is_near_best(medians, Configuration.of({"malloc": "c"}))

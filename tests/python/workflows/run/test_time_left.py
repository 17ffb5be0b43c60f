from math import inf
from types import SimpleNamespace

import pytest
from tests.support.explored_jobs import PAIR, end, job

from mpiric.tuning.exploration import UNPAIRED, Ledger, Side
from mpiric.workflows.run import explore

APPLIED = SimpleNamespace(recipe=SimpleNamespace(evidence=SimpleNamespace(ratio=1.4, high=1.5)))


def near(monkeypatch, left_s, *jobs):
    monkeypatch.setattr(explore, "time_left_s", lambda _: left_s)
    return explore.near_its_limit(Ledger(PAIR, jobs=jobs), APPLIED, None)


def test_without_a_limit_every_job_may_run_as_it_is(monkeypatch):
    assert near(monkeypatch, inf) == ""


def test_the_first_job_under_a_limit_tells_how_long_a_run_takes(monkeypatch):
    assert "is unknown" in near(monkeypatch, 1000.0)


def test_an_unknown_time_limit_is_reported(monkeypatch):
    assert "does not report" in near(monkeypatch, None, job(1, Side.ORIGINAL, end()))


@pytest.mark.parametrize(
    ("left_s", "message"), [(80.0, ""), (70.0, "a run without the recipe takes about 60 s")]
)
def test_a_quarter_more_than_the_longest_run_must_be_left(monkeypatch, left_s, message):
    assert near(monkeypatch, left_s, job(1, Side.ORIGINAL, end())).startswith(message)
    assert bool(near(monkeypatch, left_s, job(1, Side.ORIGINAL, end()))) is bool(message)


def test_a_run_with_the_recipe_tells_of_one_without_by_the_gain(monkeypatch):
    assert "takes about 90 s" in near(monkeypatch, 100.0, job(UNPAIRED, Side.RECIPE, end()))


def test_a_job_that_was_killed_tells_nothing_of_a_whole_run(monkeypatch):
    assert "is unknown" in near(monkeypatch, 1000.0, job(1, Side.ORIGINAL, end(status=143)))

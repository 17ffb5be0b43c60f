"""Scripted runs with marks: when marks are armed, and the results."""

from pathlib import Path

import pytest
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import FAILS, Behaviour

from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Phase
from mpiric.report.json_objects import tuned_json
from mpiric.tuning.objective import parse_objective

SAMPLE = Path(__file__).parents[3] / "data/record/v2/record.mpiric"
START_UP = {"binding": Behaviour(0.9, start_s=1.0)}  # a second of ten, all of it start-up


@pytest.fixture
def tune(tmp_path, runtime):
    recorded_tune = RecordedTune(tmp_path)
    recorded_tune.runner.record, recorded_tune.runner.init_s = SAMPLE, 3.0
    return recorded_tune


def armed(tune):
    """Phases of the runs that carried marks."""
    carried = [
        any(setting.name == "MPIRIC_MARK_OUT" for setting in launch.settings)
        for launch in tune.runner.launches
    ]
    return {trial.phase for trial, marked in zip(tune.trials, carried, strict=True) if marked}


def test_both_sides_of_each_pair_carry_marks_and_nothing_else_does(tune):
    tune.runner.settings = START_UP
    tuned = tune()
    assert tuned.verdict is Verdict.FASTER
    assert armed(tune) == {Phase.PROOF}
    assert all(trial.split for trial in tune.trials if trial.phase is Phase.PROOF)
    assert "MPIRIC" not in tuned.launch.shell_line()
    assert not list((tune.place / "store").glob("*/outputs/*.marks"))


def test_a_gain_of_start_up_alone_is_reported_as_such(tune):
    tune.runner.settings = START_UP
    split = tuned_json(tune())["split"]
    assert split["start_s"] == [pytest.approx(3.0, abs=0.01), pytest.approx(2.0, abs=0.01)]
    assert split["ratio_start"] == pytest.approx(1.5, rel=0.01)
    assert split["ratio_main"] == pytest.approx(1.0, rel=0.01)
    assert split["longer"] == []  # nothing is shown of the part that would be longer
    assert split["per_mark_s"] is split["steps"] is None


def test_the_main_part_alone_can_be_tuned(tune):
    tune.runner.settings = {**START_UP, "malloc": Behaviour(0.8)}
    tuned = tune(objective=parse_objective("main"))
    assert [change.knob for change in tuned.changes] == ["malloc"]
    assert armed(tune) == {Phase.OBSERVE, Phase.SEARCH, Phase.PROOF}
    assert tuned.original.median_s == pytest.approx(7.0, rel=0.01)
    assert tuned_json(tuned)["objective"] == "main"


def test_without_the_runtime_the_main_part_cannot_be_tuned_and_the_wall_time_can(tune, runtime):
    runtime.write_bytes(b"of an older version")
    tune.runner.settings = {"binding": Behaviour(0.8)}
    with pytest.raises(MpiricError, match="without step markers"):
        tune(objective=parse_objective("main"))
    assert tune(store=tune.place / "other").split is None


def test_a_program_that_cannot_be_recorded_carries_no_marks(tune):
    tune.runner.nth = {2: FAILS}
    tune.runner.settings = START_UP
    assert tune().split is None
    assert armed(tune) == set()

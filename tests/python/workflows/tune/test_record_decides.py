"""A tune's space after a record: knobs that cannot matter are listed with a reason and never tried."""

from pathlib import Path

import pytest
from tests.support.behaviours import ALLREDUCE, HEAT, doing
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import INTERRUPTED
from tests.support.situations import BY_LABEL, situation

from mpiric.host.installation import native
from mpiric.profile import behaviour
from mpiric.report.json_objects import tuned_json
from mpiric.tuning.objective import parse_objective
from mpiric.workflows.tune.space import least_share, needless_knobs, requested_space
from mpiric.workflows.tune.state import TuneRequest

# Four ranks that spend their time in an allreduce and in messages of a few bytes, and fault little.
SAMPLE = Path(__file__).parents[3] / "data/record/v2/record.mpiric"


def request(**options):
    return TuneRequest(("mpiexec", "./app"), "/home/u", {}, **options)


def spaces(shown, label="mpich-5.0.2", **options):
    case = doing(situation(BY_LABEL[label], ranks=options.pop("ranks", 2)), shown)
    tune_request = request(**options)
    tried = {dimension.knob for dimension in requested_space(tune_request, case).dimensions}
    return tried, {skipped.knob: skipped.why for skipped in needless_knobs(tune_request, case)}


def test_every_knob_that_applies_is_tried_or_cannot_matter():
    tried, needless = spaces(HEAT)
    everything, none = spaces(HEAT, try_all=True)
    assert none == {}
    assert tried | set(needless) == everything
    assert not tried & set(needless)


def test_the_heat_solver_keeps_the_knobs_that_affect_its_time():
    tried, needless = spaces(HEAT)
    assert {"binding", "malloc", "huge-pages"} <= tried
    assert {"eager-node", "alltoall-algorithm", "collectives"} <= set(needless)
    assert needless["eager-node"].startswith("messages of 392 KiB ")


def test_a_large_allreduce_on_too_few_cores_is_left_with_waiting_and_its_algorithms():
    tried, needless = spaces(ALLREDUCE, ranks=4)
    elsewhere = {"collective-component", "launch-route", "node-transport"}
    assert {"waiting", "collectives"} <= tried <= {"waiting", "collectives", *elsewhere}
    assert {"eager-node", "single-copy", "malloc", "allocator", "alltoall-algorithm"} <= set(needless)


def test_with_a_printed_objective_only_knobs_without_affected_work_are_skipped():
    assert least_share(request()) == pytest.approx(0.0099, abs=1e-4)
    assert least_share(request(objective=parse_objective("output:GFLOPS (.*)"))) == 0.0
    assert least_share(request(try_all=True)) is None


@pytest.fixture
def tune(tmp_path, monkeypatch):
    """A recorded tune whose original leaves a real record, in which the allocator takes no time."""
    own_numbers = behaviour._own_numbers
    monkeypatch.setattr(
        behaviour, "_own_numbers", lambda *of, **how: {**own_numbers(*of, **how), "allocator_bound": 0}
    )
    library = tmp_path / "native/openmpi/libmpiric.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(native, "_ROOT", tmp_path / "native")
    recorded_tune = RecordedTune(tmp_path)
    recorded_tune.runner.record = SAMPLE
    return recorded_tune


def test_knobs_that_cannot_matter_are_in_the_result_and_in_no_run(tune):
    tuned = tune(max_runs=40, try_all=False)
    result = tuned_json(tuned)
    assert [entry["knob"] for entry in result["cannot_matter"]] == ["malloc"]
    assert "page faults" in result["cannot_matter"][0]["why"]
    assert "malloc" not in result["tried"]
    assert result["tried"]
    assert not any("malloc" in trial.configuration.as_dict() for trial in tune.trials)


def test_tried_knobs_are_the_ones_set_by_a_run(tune):
    assert tuned_json(tune(max_runs=4))["tried"] == []


def test_a_resumed_tune_goes_on_in_the_space_that_it_began_in(tune):
    tune.runner.nth = {7: INTERRUPTED}
    assert tune(max_runs=40, try_all=False).interrupted
    tune.runner.record = None  # no record this time
    tuned = tune(max_runs=40, try_all=False, resume=True)
    assert [entry.knob for entry in tuned.cannot_matter] == ["malloc"]


def test_other_options_make_another_space(tune):
    tune.runner.nth = {7: INTERRUPTED}
    assert tune(max_runs=40, try_all=False).interrupted
    assert tune(max_runs=40, try_all=True, resume=True).cannot_matter == ()

"""A program tuned by its steps, compared with then by the same steps."""

from pathlib import Path

import pytest
from tests.support.recorded_tune import COMMAND, MACHINE, RecordedTune, rank
from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import Behaviour
from tests.support.stepping_runner import SteppingRunner

from mpiric.host.installation import native
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.run import Narrator
from mpiric.workflows.history import baseline, history
from mpiric.workflows.history.baseline import AgainstRequest, records_at


@pytest.fixture
def then(tmp_path, monkeypatch):
    """A tune of then, and `then.against(recipe)`, which measures the same command again."""
    library = tmp_path / "native/openmpi/libmpiric.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\0MPIRIC_MARK_OUT\0")
    monkeypatch.setattr(native, "_ROOT", tmp_path / "native")
    runner = SteppingRunner(ranks=(rank(0), rank(1)), settings={"binding": Behaviour(0.7)})
    runner.take_over(monkeypatch)
    monkeypatch.setattr(history, "Runner", lambda: runner)
    tune = RecordedTune(tmp_path, runner)
    tune.recipe = Path(tune(budget_s=600.0).recipe)

    def against(baseline=tune.recipe):
        request = AgainstRequest(
            COMMAND,
            str(tmp_path / "work"),
            {"PATH": "/usr/bin:/bin"},
            str(baseline),
            store=tmp_path / "store",
        )
        return history.against(request, ReplayHost.load(MACHINE), Narrator())

    tune.against = against
    return tune


def test_a_program_as_then_takes_the_time_of_then_for_a_step(then):
    before_s = then.runner.now_s
    comparison = then.against()
    assert comparison.baseline.marks is not None
    assert comparison.as_it_is.ratio == pytest.approx(1.0, rel=0.01)
    assert comparison.with_recipe.verdict is Verdict.NO_DIFFERENCE
    assert then.runner.now_s - before_s < 600


def test_a_program_whose_steps_have_become_longer_is_slower(then):
    then.runner.step_s *= 1.2
    assert then.against().as_it_is.verdict is Verdict.SLOWER


def test_a_saved_recipe_holds_all_that_is_needed(then, tmp_path):
    copied = tmp_path / "elsewhere.toml"
    copied.write_text(then.recipe.read_text())
    comparison = then.against(copied)
    assert comparison.baseline.marks[0] == then.against().baseline.marks[0]
    assert comparison.as_it_is.ratio == pytest.approx(1.0, rel=0.02)
    then.runner.step_s *= 1.2
    assert then.against(copied).as_it_is.verdict is Verdict.SLOWER


def test_a_saved_recipe_that_names_no_marks_is_refused(then, tmp_path):
    copied = tmp_path / "elsewhere.toml"
    head, _, tail = then.recipe.read_text().partition("[marks]")
    copied.write_text(head + tail[tail.index("[evidence]") :])
    with pytest.raises(MpiricError, match="does not contain the step markers"):
        then.against(copied)


@pytest.fixture
def recorded(then, tmp_path, monkeypatch):
    """`recorded(count)`: a directory with records of ``count`` earlier runs."""

    def record(count):
        for number in range(count):
            directory = tmp_path / f"records/{number}"
            directory.mkdir(parents=True)
            (directory / "record.mpiric").touch()
        runs = {
            path: then.runner.recorded(path.parent, "", 200.0).record
            for path in records_at(tmp_path / "records")
        }
        monkeypatch.setattr(baseline, "read_record", runs.__getitem__)
        return tmp_path / "records"

    return record


def test_steps_are_compared_with_those_of_recorded_runs(then, recorded):
    records = recorded(3)
    comparison = then.against(records)
    assert comparison.as_it_is.verdict is Verdict.NO_DIFFERENCE
    assert comparison.with_recipe is None
    assert comparison.baseline.original == pytest.approx((0.05,) * 3, rel=0.01)
    then.runner.step_s *= 1.2
    assert then.against(records).as_it_is.verdict is Verdict.SLOWER


def test_one_recorded_run_proves_nothing(then, recorded):
    with pytest.raises(MpiricError, match="needs more runs than the 1 of") as error:
        then.against(recorded(1))
    assert "several records" in error.value.hint

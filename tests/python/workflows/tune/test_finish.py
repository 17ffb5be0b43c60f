"""`tune --finish` on a script's clock: the whole tuned run against whole runs of the original."""

from pathlib import Path

import pytest
from tests.python.workflows.tune.test_marks_course import tune  # noqa: F401
from tests.support.scripted_runner import Behaviour

from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.evidence import WholeVerdict
from mpiric.model.run import Outcome, Phase
from mpiric.report.json_objects import tuned_json
from mpiric.report.tuned_parts import looked_at
from mpiric.tuning.recipe import read_recipe
from mpiric.workflows.tune.check_answer import check_reference


def whole_runs(recorded):
    return [trial for trial in recorded.tune.trials if trial.phase is Phase.FINISH]


def test_an_agreeing_whole_run_is_noted_in_recipe_and_result(tune):  # noqa: F811
    tuned = tune(finish=True)
    assert tuned_json(tuned)["whole_check"] == "agrees"
    assert looked_at(tuned).endswith("a complete run agrees with the original.")
    assert [bool(trial.configuration) for trial in whole_runs(tune)] == [False, True]
    assert all(not trial.came_early and trial.wall_s > 2000 for trial in whole_runs(tune))
    recipe = read_recipe(Path(tuned.recipe), lambda *_: "")
    assert recipe.whole.verdict is WholeVerdict.AGREES
    assert recipe.marks.pair == tuned.marks.pair
    assert recipe.marks.per_mark_s == (pytest.approx(0.05, rel=0.02), pytest.approx(0.035, rel=0.02))


def test_an_answer_that_ends_otherwise_differs_after_a_second_original(tune):  # noqa: F811
    tune.tune.runner.settings = {"binding": Behaviour(0.7, stdout="energy -41\n")}
    tuned = tune(finish=True)
    assert tuned.whole.verdict is WholeVerdict.DIFFERS
    assert "-41" in tuned.whole.why
    assert len(whole_runs(tune)) == 3
    assert "a complete run differs: " in looked_at(tuned)


def test_an_answer_that_fails_behind_its_mark_differs(tune):  # noqa: F811
    runner = tune.tune.runner
    execute = runner.execute

    def dies_late(launch, *arguments, **options):
        done = execute(launch, *arguments, **options)
        is_answer = options.get("early_end") is None and any(s.knob == "binding" for s in launch.settings)
        return done.__class__(Outcome.FAILED, done.wall_s, -11, "ended by signal 11") if is_answer else done

    runner.execute = dies_late
    tuned = tune(finish=True)
    assert (tuned.whole.verdict, tuned.whole.why) == (WholeVerdict.DIFFERS, "ended by signal 11")


def test_a_saved_whole_run_of_the_user_is_reused(tune, tmp_path):  # noqa: F811
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/stdout").write_text("energy -42.0625\n")
    tuned = tune(finish=True, reference=tmp_path / "kept")
    assert tuned.whole.verdict is WholeVerdict.AGREES
    assert [bool(trial.configuration) for trial in whole_runs(tune)] == [True]


def test_a_reference_that_disagrees_is_doubted_by_a_whole_original(tune, tmp_path):  # noqa: F811
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/stdout").write_text("energy -40\n")
    assert tune(finish=True, reference=tmp_path / "kept").whole.verdict is WholeVerdict.AGREES
    assert len(whole_runs(tune)) == 2


def test_whole_runs_need_no_finish(tune):  # noqa: F811
    tuned = tune(finish=True, to_the_end=True, budget_s=400000.0)
    assert tuned.whole is None
    assert "--finish has no effect: all runs went to their ends" in tuned.notes
    assert whole_runs(tune) == []


def test_an_empty_reference_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(MpiricError, match="contains no file"):
        check_reference(tmp_path)
    with pytest.raises(NotFoundError, match="is not a directory"):
        check_reference(tmp_path / "nowhere")

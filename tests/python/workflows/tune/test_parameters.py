"""Parameters of the user's command in a tune: search, proof, recipe and the command that it prints."""

from pathlib import Path

import pytest
from tests.support.recorded_tune import COMMAND, MACHINE, RecordedTune
from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import Behaviour

from mpiric.model.batch import NodeShape
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.tuning.recipe import read_recipe
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.recipe_choice import check_value
from mpiric.workflows.run.run import prepare
from mpiric.workflows.run.script import ScriptRequest, script

LINE = (*COMMAND, "-b", "{NB}", "{print}")
VALUES = {"{NB}": ("32", "64", "128")}
FASTER = {"{NB}=64": Behaviour(0.8)}


@pytest.fixture
def tune(tmp_path: Path) -> RecordedTune:
    return RecordedTune(tmp_path, command=LINE)


def prepared(tune, line=LINE):
    work = str(tune.place / "work")
    request = RunRequest(line, work, {"PATH": "/usr/bin:/bin"}, store=tune.place / "store")
    return prepare(request, ReplayHost.load(MACHINE))


def test_the_fastest_value_is_proved(tune):
    tune.runner.settings = FASTER
    tuned = tune(max_runs=60, only=("param",), parameters=VALUES)
    assert (tuned.verdict, tuned.evidence.configuration) == (Verdict.FASTER, Configuration.of({"{NB}": "64"}))
    assert tuned.launch.argv == (*COMMAND, "-b", "64", "{print}")


def test_the_baseline_is_the_first_value(tune):
    tune(max_runs=4, only=("param",), parameters=VALUES)
    assert tune.runner.launches[0].argv == (*COMMAND, "-b", "32", "{print}")


def test_every_value_is_tried_and_no_other(tune):
    tune(max_runs=20, only=("param",), parameters=VALUES)
    assert {launch.argv[-2] for launch in tune.runner.launches} == {"32", "64", "128"}


def test_parameters_and_knobs_are_tuned_together(tune):
    tune.runner.settings = {**FASTER, "binding": Behaviour(0.8)}
    tuned = tune(max_runs=80, parameters=VALUES)
    assert tuned.evidence.configuration == Configuration.of({"{NB}": "64", "binding": "core"})


def test_a_value_with_other_output_is_rejected(tune):
    tune.runner.settings = {"{NB}=64": Behaviour(0.5, stdout="energy -13.5000\n")}
    tuned = tune(max_runs=30, only=("param",), parameters=VALUES)
    assert tuned.verdict is not Verdict.FASTER
    assert "{NB}=64" in {str(rejection.configuration) for rejection in tuned.rejected}


def test_run_repeats_the_command_of_the_recipe(tune):
    tune.runner.settings = FASTER
    tuned = tune(max_runs=60, only=("param",), parameters=VALUES)
    assert prepared(tune).launch.argv == tuned.launch.argv


def test_a_parameter_whose_baseline_is_the_best_has_its_value_in_a_run(tune):
    tune.command = (*COMMAND, "-b", "{NB}", "{P}")
    tune.runner.settings = FASTER
    tune(max_runs=60, only=("param",), parameters={**VALUES, "{P}": ("1", "2")})
    assert prepared(tune, tune.command).launch.argv == (*COMMAND, "-b", "64", "1")


def test_run_starts_the_number_of_ranks_of_the_recipe(tune):
    tune.command = ("mpirun.openmpi", "-n", "{N}", COMMAND[-1])
    tune.runner.settings = {"{N}=1": Behaviour(0.8)}
    tune(max_runs=60, only=("param",), parameters={"{N}": ("2", "1")})
    assert prepared(tune, tune.command).launch.argv == ("mpirun.openmpi", "-n", "1", COMMAND[-1])


def test_the_recipe_is_not_applied_to_a_command_without_the_parameter(tune):
    tune.runner.settings = FASTER
    tune(max_runs=60, only=("param",), parameters=VALUES)
    run = prepared(tune, (*COMMAND, "-b", "32"))
    assert run.launch.argv == (*COMMAND, "-b", "32")
    assert any("does not contain {NB}" in sentence for sentence in run.sentences)


def test_the_batch_script_has_the_values_of_the_recipe(tune):
    tune.runner.settings = FASTER
    recipe = Path(tune(max_runs=60, only=("param",), parameters=VALUES).recipe)
    request = ScriptRequest(
        LINE, str(tune.place / "work"), {"PATH": "/usr/bin:/bin"}, recipe=recipe, shape=NodeShape(1, 2, 1)
    )
    assert "lmp -b 64 '{print}'" in script(request, ReplayHost.load(MACHINE)).text


def test_the_recipe_is_read_back_with_its_parameters(tune):
    tune.runner.settings = FASTER
    recipe = read_recipe(Path(tune(max_runs=60, only=("param",), parameters=VALUES).recipe), check_value)
    assert (recipe.parameters, recipe.command) == ({"{NB}": "32"}, LINE)


def test_a_recipe_cannot_put_a_path_or_an_option_into_the_command():
    assert check_value("{NB}", "/bin/sh")
    assert check_value("{NB}", "--output=x")
    assert not check_value("{NB}", "64")


def test_a_resumed_tune_refuses_another_baseline(tune):
    tune.runner.settings = FASTER
    tune(max_runs=8, only=("param",), parameters=VALUES)
    with pytest.raises(MpiricError, match="another baseline"):
        tune(max_runs=8, only=("param",), resume=True, parameters={"{NB}": ("64", "32")})


def test_a_resumed_tune_continues_with_its_runs(tune):
    tune.runner.settings = FASTER
    tune(max_runs=8, only=("param",), parameters=VALUES)
    before = tune.trials
    tuned = tune(max_runs=60, only=("param",), resume=True, parameters=VALUES)
    assert tuned.verdict is Verdict.FASTER
    assert tune.trials[: len(before)] == before


def test_site_defaults_have_no_parameters(tune):
    with pytest.raises(MpiricError, match="--site"):
        tune(site=True, parameters=VALUES)


def test_runs_are_whole_as_other_arguments_make_other_calls(tune):
    assert "--param" in tune(max_runs=3, only=("param",), parameters=VALUES).marks_why


def test_a_value_that_the_launcher_does_not_accept_is_reported_before_the_first_run(tune):
    tune.command = ("mpirun.openmpi", "-n", "{N}", COMMAND[-1])
    with pytest.raises(MpiricError, match="positive integer"):
        tune(max_runs=3, only=("param",), parameters={"{N}": ("2", "x")})
    assert not tune.runner.launches

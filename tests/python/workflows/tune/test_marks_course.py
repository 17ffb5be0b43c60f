"""A program that runs for hours, tuned in ten minutes of a script's clock by runs that end at a mark."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.recorded_tune import COMMAND, PROGRAM, RecordedTune, rank
from tests.support.scripted_runner import INTERRUPTED, Behaviour
from tests.support.stepping_runner import SteppingRunner, Steps

from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict, WholeCheck
from mpiric.model.run import Outcome, Phase
from mpiric.report.json_objects import tuned_json
from mpiric.tuning.mark_choice import parse_mark
from mpiric.tuning.objective import parse_objective
from mpiric.tuning.recipe import read_recipe
from mpiric.workflows.trials import find_marks

BUDGET_S = 600.0
FASTER = {"binding": Behaviour(0.7)}


@pytest.fixture
def tune(tmp_path, runtime, monkeypatch):
    runner = SteppingRunner(ranks=(rank(0), rank(1)), settings=FASTER)
    runner.take_over(monkeypatch)
    recorded_tune = RecordedTune(tmp_path, runner)

    def call(**options):
        return recorded_tune(**{"budget_s": BUDGET_S, **options})

    call.tune = recorded_tune
    return call


def test_an_hour_is_tuned_within_the_budget_and_proved_by_its_steps(tune):
    tuned = tune()
    assert tuned.verdict is Verdict.FASTER
    assert [change.knob for change in tuned.changes] == ["binding"]
    assert tuned.evidence.ratio == pytest.approx(1 / 0.7, rel=0.02)
    assert tune.tune.runner.now_s < 1.1 * BUDGET_S
    assert tuned.original.median_s == pytest.approx(0.05, rel=0.02)
    assert not any(trial.outcome is Outcome.FAILED for trial in tune.tune.trials)
    assert all(trial.came_early for trial in tune.tune.trials)
    recipe = read_recipe(Path(tuned.recipe), lambda *_: "")
    assert (recipe.scope, recipe.whole) == ("steps", WholeCheck())


def test_a_program_that_was_seen_whole_is_compared_with_its_start_up(tune):
    runner = tune.tune.runner
    runner.is_seen_whole, runner.wall_s = True, runner.init_s + 400 * runner.step_s
    tuned = tune()
    whole_s = [runner.init_s + 400 * pace_s for pace_s in (runner.step_s, 0.7 * runner.step_s)]
    assert tuned.scope == "forecast"
    assert tuned.original.median_s == pytest.approx(whole_s[0], rel=0.05)
    assert tuned.evidence.ratio == pytest.approx(whole_s[0] / whole_s[1], rel=0.05)


def test_json_contains_the_compared_parts(tune):
    result = tuned_json(tune())
    assert result["marks"]["function"] == "MPI_Allreduce"
    assert result["marks"]["place"] == "lmp+0x48f2"
    assert result["marks"]["communicator"] == {"ranks": 2, "birth": 0}
    assert 1 <= result["marks"]["first"] < result["marks"]["last"] <= 400
    assert (result["scope"], result["whole_check"], result["marks_why"]) == ("steps", "not run", None)
    assert result["stopped_trials"] == result["runs"]
    assert result["split"]["per_mark_s"] == [pytest.approx(0.05, rel=0.02), pytest.approx(0.035, rel=0.02)]
    assert result["split"]["steps"]["ratio"] == pytest.approx(1 / 0.7, rel=0.02)
    assert result["split"]["end_s"] is result["forecast_s"] is None


def rejected(tuned):
    return {reason for entry in tuned.rejected for reason in [entry.reason]}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (Steps(calls=10), "other work than the original's: rank 0 made"),
        (Steps(result=1.25), "the results of MPI_Allreduce at lmp+0x48f2 on rank 0 before the mark are not"),
        (Steps(comes=False), "rank 0 did not reach the step marker"),
    ],
    ids=["fewer calls", "another result", "never there"],
)
def test_runs_with_other_work_before_the_mark_are_rejected(tune, odd, reason):
    tune.tune.runner.odd = {"binding": odd}
    tuned = tune()
    assert not tuned.changes
    assert any(reason in rejection for rejection in rejected(tuned))


def test_originals_that_do_other_work_each_time_have_no_marks(tune):
    runner, leave = tune.tune.runner, tune.tune.runner._leave_steps
    counts = iter(range(20, 2000, 2))
    runner._leave_steps = lambda *arguments: leave(*arguments[:-1], Steps(calls=next(counts)))
    runner.wall_s = 50.0
    tuned = tune(budget_s=400.0)
    assert tuned.marks is None
    assert "the steps differ from run to run: calls of rank 0 differ by" in tuned.marks_why
    assert tuned.scope == "whole run"
    phases = (Phase.OBSERVE, Phase.RECORD)
    complete_runs = [one for one in tune.tune.trials if one.phase in phases and not one.came_early]
    assert all(trial.wall_s > 49 for trial in complete_runs)
    assert len(complete_runs) >= 2


def test_parts_not_compared_at_the_mark_are_reported(tune):
    tune.tune.runner.flags = 64  # a flush that failed
    (note,) = [note for note in tune(max_runs=8).notes if "buffered" in note]
    assert note.startswith("at the mark not all that ranks had buffered could be written (a full disk")


def test_why_the_run_with_the_marks_left_no_record_is_reported(tune, monkeypatch):
    learn, lacking = find_marks.learn_marks, {"recorded": None, "why_unrecorded": "6 of 8 ranks left no data"}

    def learn_less(*arguments):
        return replace((yield from learn(*arguments)), **lacking)

    monkeypatch.setattr(find_marks, "learn_marks", learn_less)
    (note,) = [note for note in tune(max_runs=8).notes if "not recorded" in note]
    assert note.endswith(": 6 of 8 ranks left no data")


def test_a_program_without_even_calls_runs_whole_and_the_reason_is_reported(tune):
    tune.tune.runner.even, tune.tune.runner.wall_s = False, 25.0
    tuned = tune(budget_s=300.0)
    assert tuned.marks_why == "no collective of all ranks and no send occurs at regular intervals"
    assert tuned.scope == "whole run"
    assert tune.tune.runner.now_s < 1.1 * 300


def test_an_option_that_keeps_long_runs_whole_is_reported(tune):
    tune.tune.runner.wall_s = 25.0
    notes = tune(budget_s=300.0, to_the_end=True).notes
    assert any(
        note.startswith("runs are whole because of --to-the-end; else a run of 25 s") for note in notes
    )
    assert not any("runs are whole" in note for note in tune(budget_s=3000.0, to_the_end=True).notes)


def test_of_several_programs_in_one_world_without_marks_the_reason_says_so(tune):
    tune.tune.runner.even, tune.tune.runner.wall_s = False, 25.0
    tune.tune.command = (*COMMAND, ":", "-n", "1", PROGRAM, "-in", "other")
    why = "no collective of all ranks and no send occurs at regular intervals"
    several = "its ranks run several programs (MPMD), each with separate calls"
    assert tune(budget_s=300.0).marks_why == f"{why}; {several}"


def test_the_run_that_was_looked_at_for_marks_is_all_that_the_budget_has_room_for(tune):
    tune.tune.runner.even, tune.tune.runner.wall_s = False, 25.0
    tuned = tune(budget_s=30.0)
    assert [(trial.phase, trial.came_early) for trial in tune.tune.trials] == [
        (Phase.OBSERVE, True),
        (Phase.RECORD, False),
    ]
    assert (tuned.scope, tuned.original.runs) == ("whole run", 1)
    assert any("a proof takes at least" in note for note in tuned.notes)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {},
            "and runs cannot end at a mark: no collective of all ranks and no send occurs",
        ),
        ({"check_command": "true"}, "so how long it takes is not known$"),
    ],
    ids=["no marks", "whole runs asked for"],
)
def test_no_run_goes_on_when_the_budget_is_spent(tune, options, why):
    tune.tune.runner.even = False
    with pytest.raises(MpiricError, match=why) as error:
        tune(budget_s=60.0, **options)
    assert "stopped when the budget of 60 s was spent" in error.value.message
    assert "--to-the-end" in error.value.hint
    assert tune.tune.runner.now_s < 1.1 * 60.0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"to_the_end": True}, "--to-the-end"),
        ({"in_place": True}, "--in-place"),
        ({"check_command": "true"}, "--check"),
        ({"objective": parse_objective("main")}, "--objective main"),
        ({"objective": parse_objective("command:echo 1")}, "--objective command"),
    ],
)
def test_runs_are_whole_on_request(tune, options, reason):
    tune.tune.runner.wall_s = 18.0
    tuned = tune(budget_s=60.0, **options)
    assert reason in tuned.marks_why
    assert not any(trial.came_early for trial in tune.tune.trials)


def test_a_mark_that_is_named_is_taken_however_short_the_program(tune):
    tuned = tune(budget_s=6000.0, max_runs=12, mark=parse_mark("allreduce@lmp+0x48f2@2.0:100,300"))
    assert (tuned.marks.pair.first, tuned.marks.pair.last) == (100, 300)
    assert tuned.marks.why == "named by --mark, 400 times"
    assert tuned.scope == "steps"


def test_a_mark_that_is_named_lets_runs_end_in_the_directory_itself(tune):
    assert tune(in_place=True, max_runs=12, mark=parse_mark("allreduce")).marks is not None


def test_a_mark_that_is_named_and_never_comes_is_an_error(tune):
    with pytest.raises(
        MpiricError, match=r"the mark bcast never came .* allreduce@lmp\+0x48f2@2\.0 400 times"
    ):
        tune(mark=parse_mark("bcast"))


def test_a_mark_contradicts_options_that_need_whole_runs(tune):
    with pytest.raises(MpiricError, match="and --check needs whole runs"):
        tune(mark=parse_mark("bcast"), check_command="true")


def test_core_hours_are_those_of_a_step_or_of_the_forecast(tune):
    objective = parse_objective("core-hours")
    tuned = tune(objective=objective)
    assert (tuned.scope, tuned.verdict) == ("steps", Verdict.FASTER)
    assert tuned.original.median_s == pytest.approx(0.05 * 2 / 3600, rel=0.02)
    tuned = tune(objective=objective, length_s=7200.0)
    assert (tuned.scope, tuned.forecast_s) == ("forecast", None)
    assert tuned.original.median_s == pytest.approx(7200 * 2 / 3600, rel=0.02)


def test_a_number_that_is_printed_counts_where_it_is_printed_before_the_mark(tune):
    mark = parse_mark("allreduce:100,350")
    tuned = tune(objective=parse_objective("output:energy -(.*)"), max_runs=12, mark=mark)
    assert (tuned.scope, tuned.original.median_s) == ("steps", 1.5)


def test_without_its_line_before_the_mark_an_objective_is_of_whole_runs(tune):
    tune.tune.runner.original = Behaviour(stdout="Performance: 3.5\n")
    tune.tune.runner.wall_s = 50.0
    tuned = tune(objective=parse_objective("output:Performance: (.*)"), budget_s=400.0)
    assert (tuned.scope, tuned.original.median_s) == ("whole run", 3.5)
    assert "before the mark the output has no number that matches" in tuned.marks_why


def test_an_older_runtime_means_whole_runs(tune, runtime):
    runtime.write_bytes(b"")
    tune.tune.runner.wall_s = 18.0
    assert "older version, without step markers, and no line is printed" in tune(budget_s=60.0).marks_why


def test_a_gain_of_start_up_alone_is_none_of_the_steps(tune):
    tune.tune.runner.settings = {"binding": Behaviour(start_s=2.0)}
    tune.tune.runner.init_s = 3.0
    assert tune().verdict is not Verdict.FASTER


def test_the_forecast_of_a_longer_run_counts_its_start_up(tune):
    tuned = tune(length_s=7200.0)
    result = tuned_json(tuned)
    assert result["scope"] == "forecast"
    assert result["forecast_s"] == [pytest.approx(7200, rel=0.01), pytest.approx(0.7 * 7200, rel=0.01)]
    assert tuned.verdict is Verdict.FASTER


def test_no_step_is_looked_at_before_the_time_that_is_given(tune):
    assert tune(after_s=10.0).marks.pair.first >= 10.0 / 0.05


def test_an_interrupted_tune_goes_on_with_its_marks(tune):
    tune.tune.runner.nth = {9: INTERRUPTED}
    assert tune().interrupted
    before = len(tune.tune.trials)
    tuned = tune(resume=True)
    assert tuned.verdict is Verdict.FASTER
    again = tune.tune.trials[before:]
    assert Phase.RECORD not in {trial.phase for trial in again}

"""Proofs of a tune: settings that must change together, shares in the result, stopped runs."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.recorded_tune import RecordedTune
from tests.support.scripted_runner import FAILS, INTERRUPTED, Behaviour
from tests.support.situations import BY_LABEL, machine, situation

from mpiric.launchers import dialects
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.run import Outcome, Phase
from mpiric.plans.stages import EFFORTS
from mpiric.tuning.objective import parse_objective
from mpiric.tuning.recipe import read_recipe
from mpiric.workflows.tune import tune as tune_module
from mpiric.workflows.tune.find_candidates import look_at_knobs
from mpiric.workflows.tune.tune import units_of

BOUND = Configuration.of({"binding": "core"})
LUCKY = Configuration.of({"binding": "core", "malloc": "keep-memory"})
THOROUGH = EFFORTS["thorough"]
BOTH = {"binding": Behaviour(0.8), "huge-pages": Behaviour(0.9)}


@pytest.fixture
def tune(tmp_path: Path) -> RecordedTune:
    return RecordedTune(tmp_path)


@pytest.mark.parametrize(
    ("label", "settings", "units"),
    [
        ("mpich-5.0.2", {"binding": "core", "malloc": "keep-memory"}, (("binding",), ("malloc",))),
        ("openmpi-5.0.11", {"binding": "none", "waiting": "yield"}, (("binding", "waiting"),)),
        ("mpich-5.0.2", {"binding": "none", "waiting": "yield"}, (("binding",), ("waiting",))),
        (
            "mpich-5.0.2",
            {"omp-bind": "close", "omp-places": "cores", "omp-threads": "2"},
            (("omp-bind", "omp-places"), ("omp-threads",)),
        ),
        ("mpich-5.0.2", {"omp-bind": "spread", "omp-places": "cores"}, (("omp-bind",), ("omp-places",))),
        ("mpich-5.0.2", {}, ()),
    ],
)
def test_a_setting_is_one_unit_with_those_that_its_value_needs(label, settings, units):
    assert units_of(Configuration.of(settings), situation(BY_LABEL[label])) == units


def test_settings_of_another_launcher_go_with_it():
    case = situation(BY_LABEL["mpich-5.0.2"], ranks=8, nodes=4, on=machine(2, 8))
    srun = replace(case.job, dialect="srun", launcher=dialects()["srun"].traits, launcher_words=("srun",))
    case = replace(case, job=srun)
    by_mpirun = {"launch-route": "mpirun", "mapping": "spread-numa", "malloc": "keep-memory"}
    assert units_of(Configuration.of(by_mpirun), case) == (("launch-route", "mapping"), ("malloc",))
    by_both = {"launch-route": "mpirun", "mapping": "node-round-robin"}
    assert units_of(Configuration.of(by_both), case) == (("launch-route",), ("mapping",))


def test_each_setting_of_the_result_has_its_share(tune):
    tune.runner.settings = BOTH
    tuned = tune(max_runs=120, effort=THOROUGH)
    shares = {change.knob: change.share for change in tuned.changes}
    assert set(shares) == {"binding", "huge-pages"}
    for knob, worth in (("binding", 1 / 0.8), ("huge-pages", 1 / 0.9)):
        assert shares[knob].shown
        assert shares[knob].ratio == pytest.approx(worth, rel=0.01)
    assert {change.knob: change.site for change in tuned.changes} == {"binding": True, "huge-pages": False}
    recipe = read_recipe(Path(tuned.recipe), lambda *_: "")
    assert recipe.evidence.shares == tuned.evidence.shares


def test_shares_are_estimated_from_the_runs_of_the_search_by_default(tune):
    tune.runner.settings = BOTH
    tuned = tune(max_runs=120)
    shares = {change.knob: change.share for change in tuned.changes}
    assert tuned.verdict is Verdict.FASTER
    assert {knob: share.is_estimated for knob, share in shares.items()} == dict.fromkeys(BOTH, True)
    for knob, worth in (("binding", 1 / 0.8), ("huge-pages", 1 / 0.9)):
        assert shares[knob].low <= worth <= shares[knob].high
    proof = [trial for trial in tune.trials if trial.phase is Phase.PROOF]
    assert {trial.configuration for trial in proof} == {Configuration(), tuned.evidence.configuration}
    recipe = read_recipe(Path(tuned.recipe), lambda *_: "")
    assert recipe.evidence.shares == tuned.evidence.shares


def test_too_few_runs_for_shares_leave_a_proved_answer_that_says_so(tune):
    tune.runner.settings = BOTH
    tuned = tune(max_runs=40, effort=THOROUGH)
    assert tuned.verdict is Verdict.FASTER
    reasons = {change.share.why for change in tuned.changes if not change.share.shown}
    assert reasons
    assert reasons <= {
        f"the budget ended: {why}"
        for count in range(9)
        for why in (
            f"likely, but not shown by {count} runs without it",
            f"too few runs without it ({count}) to tell",
        )
    }


def test_the_second_run_of_a_pair_is_stopped_and_its_output_removed(tune):
    tune.runner.settings = {"binding": Behaviour(0.25)}
    tuned = tune(max_runs=60)
    stopped = [trial for trial in tune.trials if trial.at_least is not None]
    assert stopped
    assert all(t.outcome is Outcome.TIMED_OUT and not t.configuration for t in stopped)
    assert all(t.wall_s == pytest.approx(5.0, rel=0.01) for t in stopped)  # twice 2.5 s instead of 10 s
    assert not any(Path(trial.stdout).exists() for trial in stopped)
    assert tuned.verdict is Verdict.FASTER
    assert len(tuned.evidence.stopped) == len(stopped)
    assert tuned.evidence.ratio == pytest.approx(4, rel=0.01)
    assert tuned.original.median_s == pytest.approx(10.0, rel=0.01)


def test_runs_are_not_stopped_when_something_else_than_time_is_the_objective(tune):
    tune.runner.settings = {"binding": Behaviour(0.25)}
    tune(max_runs=60, objective=parse_objective("core-hours"))
    assert all(trial.at_least is None for trial in tune.trials)


def test_a_budget_that_seemed_too_small_is_not_complained_of_once_the_answer_is_proved(tune):
    tune.runner.settings = {"binding": Behaviour(0.1)}
    tuned = tune(budget_s=230.0, only=("binding",))
    assert tuned.verdict is Verdict.FASTER
    assert not any("a proof takes" in note for note in tuned.notes)


@pytest.fixture
def lucky(tune, monkeypatch):
    """The search proposes `malloc`, which has no effect, together with `binding`."""

    def found(state):
        look_at_knobs(state)
        yield from ()
        return [LUCKY]

    monkeypatch.setattr(tune_module, "find_candidates", found)
    tune.runner.settings = {"binding": Behaviour(0.8)}
    return tune


def test_settings_without_a_shown_contribution_are_dropped_and_reported(lucky):
    tuned = lucky(max_runs=120, effort=THOROUGH)
    assert [change.knob for change in tuned.changes] == ["binding"]
    assert "removed, since not shown to contribute: malloc" in tuned.notes
    assert tuned.verdict is Verdict.FASTER
    larger = {trial.pair for trial in lucky.trials if trial.configuration == LUCKY}
    smaller = [
        t for t in lucky.trials if t.configuration == BOUND and t.replicate >= 0 and t.phase is Phase.PROOF
    ]
    assert len(tuned.evidence.pairs) == len(smaller) >= 10
    assert not larger & {trial.pair for trial in smaller}


def test_an_interruption_while_a_smaller_answer_is_proved_keeps_the_larger_one(lucky):
    lucky(max_runs=120, effort=THOROUGH)
    number = next(t.number for t in lucky.trials if t.configuration == BOUND and t.replicate >= 0)
    again = RecordedTune(lucky.place / "again")
    again.place.mkdir()
    again.runner.settings, again.runner.nth = lucky.runner.settings, {number + 3: INTERRUPTED}
    stopped = again(max_runs=120, effort=THOROUGH)
    assert stopped.interrupted
    assert stopped.evidence.configuration == LUCKY
    assert {change.knob: change.share.shown for change in stopped.changes}["malloc"] is False
    resumed = again(max_runs=120, effort=THOROUGH, resume=True)
    assert resumed.evidence.configuration == BOUND
    numbers = [(t.configuration, t.pair, t.replicate) for t in again.trials if t.phase is Phase.PROOF]
    assert len(set(numbers)) >= len(numbers) - 1  # the run that was interrupted


def test_a_smaller_answer_that_fails_is_rejected_and_the_larger_one_stays(lucky):
    lucky(max_runs=120, effort=THOROUGH)
    number = next(t.number for t in lucky.trials if t.configuration == BOUND and t.replicate >= 0)
    again = RecordedTune(lucky.place / "again")
    again.place.mkdir()
    again.runner.settings, again.runner.nth = (
        lucky.runner.settings,
        dict.fromkeys((number, number + 1), FAILS),
    )
    tuned = again(max_runs=120, effort=THOROUGH)
    assert tuned.evidence.configuration == LUCKY
    assert [str(rejection.configuration) for rejection in tuned.rejected] == [str(BOUND)]


def test_an_interruption_after_the_verdict_keeps_the_answer_and_the_shares_so_far(tune):
    tune.runner.settings = BOTH
    tune(max_runs=120, effort=THOROUGH)
    first = next(trial.number for trial in tune.trials if trial.phase is Phase.PROOF)
    again = RecordedTune(tune.place / "again")
    again.place.mkdir()
    again.runner.settings, again.runner.nth = BOTH, {first + 34: INTERRUPTED}  # four rounds of eight are over
    stopped = again(max_runs=120, effort=THOROUGH)
    assert stopped.interrupted
    assert stopped.verdict is Verdict.FASTER
    assert Path(stopped.recipe).is_file()
    assert {change.share.runs for change in stopped.changes} == {4}


@pytest.mark.parametrize("after", [3, 12, 20, 30])
def test_a_resumed_proof_of_several_settings_repeats_no_round(tune, tmp_path, after):
    place = tmp_path / "undisturbed"
    place.mkdir()
    undisturbed = RecordedTune(place)
    undisturbed.runner.settings = tune.runner.settings = BOTH
    uninterrupted = undisturbed(max_runs=120, effort=THOROUGH)
    first = next(trial.number for trial in undisturbed.trials if trial.phase is Phase.PROOF)
    tune.runner.nth = {first + after: INTERRUPTED}
    assert tune(max_runs=120, effort=THOROUGH).interrupted
    resumed = tune(max_runs=120, effort=THOROUGH, resume=True)
    assert resumed.evidence.configuration == uninterrupted.evidence.configuration
    proof = [t for t in tune.trials if t.phase is Phase.PROOF and t.outcome is Outcome.OK]
    runs = Counter((t.pair, t.configuration, t.replicate) for t in proof)
    repeated_rounds = {pair for (pair, _, _), count in runs.items() if count > 1}
    assert len(repeated_rounds) <= 1, "only half a pair of the round that was interrupted runs again"
    assert [share.shown for share in resumed.evidence.shares] == [True, True]

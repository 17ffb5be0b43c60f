"""Runs of the command as it is leave half of a small budget to other configurations."""

from types import SimpleNamespace

import pytest
from tests.support.recorded_tune import RecordedTune, rank
from tests.support.scripted_runner import Behaviour
from tests.support.stepping_runner import SteppingRunner

from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.statistics.step_window import MarkWindow
from mpiric.workflows.trials import step_markers

FASTER = {"binding": Behaviour(0.7)}


@pytest.fixture
def tune(tmp_path, runtime, monkeypatch):
    runner = SteppingRunner(ranks=(rank(0), rank(1)), settings=FASTER)
    runner.take_over(monkeypatch)
    return RecordedTune(tmp_path, runner)


def originals(tune, phase=Phase.OBSERVE):
    return [trial for trial in tune.trials if trial.phase is phase and trial.split is not None]


@pytest.mark.parametrize(("start_s", "count"), [(0.1, 3), (8.0, 2)])
def test_a_slow_start_up_leaves_runs_to_the_search(tune, start_s, count):
    tune.runner.init_s = start_s
    tuned = tune(budget_s=60.0)
    assert tuned.scope == "steps"
    assert len(originals(tune)) == count
    assert "binding" in tuned.tried


@pytest.mark.parametrize(("budget_s", "ends_s"), [(25.0, 4.0), (600.0, 60.0)])
def test_the_look_at_a_drifting_pace_ends_with_its_share_of_the_budget(monkeypatch, budget_s, ends_s):
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(step_markers, "time", SimpleNamespace(monotonic=lambda: now.s))
    drifting = SimpleNamespace(window=SimpleNamespace(growth=0.5), choice=SimpleNamespace(key="steps"))
    monkeypatch.setattr(step_markers._Watch, "proposal", lambda *_, **__: drifting)
    output = SimpleNamespace(look=lambda: None)
    watch = step_markers._Watch(None, output, step_markers.MarkOptions(budget_s), now.s)
    while not watch.will_do():
        now.s += 0.5
    assert now.s == ends_s


@pytest.mark.parametrize(("run_s", "count"), [(3.0, 3), (11.0, 2)])
def test_whole_runs_of_the_original_leave_runs_to_the_search(tune, run_s, count):
    tune.runner.wall_s, tune.runner.even = run_s, False
    tuned = tune(budget_s=60.0)
    first = next(at for at, trial in enumerate(tune.trials) if trial.phase is Phase.SEARCH)
    assert sum(not trial.came_early for trial in tune.trials[:first]) == count
    assert tuned.tried


@pytest.mark.parametrize(
    ("last_s", "wall_s", "came_early", "is_most"),
    [(4.0, 6.0, False, True), (2.0, 6.0, False, False), (4.0, 6.0, True, False)],
)
def test_a_run_to_the_mark_that_is_most_of_the_run_saves_nothing(last_s, wall_s, came_early, is_most):
    trial = Trial(Configuration(), Phase.RECORD, Outcome.OK, wall_s, came_early=came_early)
    assert step_markers.is_most_of(MarkWindow(10, 20, last_s / 2, last_s), trial) is is_most


class CompilesFirst(SteppingRunner):
    """Program whose first run compiles and takes an hour longer than the next ones."""

    def execute(self, *arguments, **options):
        executed = super().execute(*arguments, **options)
        self.wall_s = self.init_s + 400 * self.step_s
        return executed


def test_a_first_run_that_compiles_is_not_taken_for_the_length(tmp_path, runtime, monkeypatch):
    runner = CompilesFirst(ranks=(rank(0), rank(1)), settings=FASTER, is_seen_whole=True, step_s=0.002)
    runner.take_over(monkeypatch)
    tuned = RecordedTune(tmp_path, runner)(budget_s=60.0)
    assert tuned.scope == "whole run"
    assert tuned.marks_why.startswith("a second run took")
    assert [change.knob for change in tuned.changes] == ["binding"]

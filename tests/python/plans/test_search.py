from collections.abc import Callable
from dataclasses import replace
from math import exp

import pytest
from tests.support.landscapes import Landscape, landscape
from tests.support.scripted_lab import search

from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.plans.search import SearchResult, best_so_far
from mpiric.statistics.space import Dimension, SearchSpace
from mpiric.tuning.objective import Budget

THREE = SearchSpace(
    (
        Dimension("binding", ("core", "socket"), 0.9),
        Dimension("allocator", ("jemalloc", "bad"), 0.2),
        Dimension("yield", ("on",), 0.1),
    )
)
GAINS = {
    ("binding", "core"): 0.5,
    ("binding", "socket"): 0.8,
    ("allocator", "jemalloc"): 0.9,
    ("yield", "on"): 1.0,
}


class Program:
    """A program without noise; some settings crash it."""

    def __init__(self, crash: Callable[[dict[str, str]], bool] = lambda _: False) -> None:
        self.crash, self.asked, self.limits = crash, list[Configuration](), list[float]()
        self.trials = list[Trial]()

    def __call__(self, configuration: Configuration, limit_s: float) -> Trial:
        self.trials.append(self._run(configuration, limit_s))
        return self.trials[-1]

    def _run(self, configuration: Configuration, limit_s: float) -> Trial:
        self.asked.append(configuration)
        self.limits.append(limit_s)
        wall_s = 1.0
        for setting in configuration.items:
            wall_s *= GAINS.get(setting, 9.0)
        if self.crash(configuration.as_dict()):
            return Trial(
                configuration, Phase.SEARCH, Outcome.FAILED, 0.1, exit_status=139, reason="signal 11"
            )
        if wall_s > limit_s:
            return Trial(configuration, Phase.SEARCH, Outcome.TIMED_OUT, limit_s, reason="too slow")
        wall_s *= 1 + 0.001 * (len(self.asked) % 5)
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)


class Disturbed(Program):
    """Something else takes a third of the machine during the first run of a setting."""

    def __init__(self, setting: tuple[str, str]) -> None:
        super().__init__()
        self.setting = setting

    def __call__(self, configuration: Configuration, limit_s: float) -> Trial:
        is_first = self.setting in configuration.items and not any(
            self.setting in c.items for c in self.asked
        )
        trial = super().__call__(configuration, limit_s)
        if is_first and trial.objective is not None:
            trial = replace(trial, wall_s=1.5 * trial.wall_s, objective=1.5 * trial.objective)
        return trial


def _find(program: Program, runs: int = 30, **options: object) -> SearchResult:
    return search(THREE, program, Budget(runs=runs), **options)  # type: ignore[arg-type]


def test_winners_are_combined_and_settings_without_effect_are_left_out() -> None:
    best = _find(Program()).candidates[0]
    assert best.configuration == Configuration.of({"binding": "core", "allocator": "jemalloc"})
    assert best.expected_ratio == pytest.approx(1 / 0.45, rel=0.05)


def test_the_suggestion_comes_right_after_the_original() -> None:
    program = Program()
    _find(program)
    assert program.asked[:2] == [Configuration(), Configuration()]
    assert program.asked[2] == Configuration.of({"binding": "core"})


def test_a_large_gain_at_the_first_try_is_not_taken_for_a_machine_that_became_faster() -> None:
    layouts, hints = ("all", "four", "all, larger"), ("few", "fewer", "small", "large")
    space = SearchSpace((Dimension("layout", layouts, 0.9), Dimension("mpi-io", hints, 0.6)))
    noise = iter((0.99, 1.0, 1.08, 0.97, 1.04, 1.1, 0.93, 0.96, 1.05, 0.95, 1.02, 1.0))

    def measure(configuration: Configuration, _: float) -> Trial:
        settings = configuration.as_dict()
        wall_s = 9.2 * (0.5 if "layout" in settings else 1.0) * (0.9 if "mpi-io" in settings else 1.0)
        wall_s *= next(noise) if settings else 1.0
        tried.append(configuration)
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)

    tried: list[Configuration] = []
    best = search(space, measure, Budget(runs=11)).candidates[0]
    assert "layout" in best.evident
    assert [bool(configuration) for configuration in tried[:5]] == [False, False, True, False, True]


def test_with_five_runs_the_best_suggestion_is_found() -> None:
    program = Program()
    result = _find(program, runs=5)
    assert len(program.asked) == 5
    assert ("binding", "core") in result.candidates[0].configuration.items


def test_a_budget_of_one_run_finds_nothing() -> None:
    assert _find(Program(), runs=1).candidates == ()


def test_a_configuration_that_is_clearly_slower_is_stopped_early_and_listed() -> None:
    program = Program()
    rejected = dict(_find(program).rejected)
    slow = [configuration for configuration in rejected if ("allocator", "bad") in configuration.items]
    assert slow
    assert "stopped early" in rejected[slow[0]]
    assert all(limit < 10 for tried, limit in zip(program.asked, program.limits, strict=True) if tried)


def test_the_original_is_stopped_only_where_it_hangs() -> None:
    program = Program()
    _find(program)
    limits = [
        limit for configuration, limit in zip(program.asked, program.limits, strict=True) if not configuration
    ]
    assert limits[0] == float("inf")
    assert all(limit > 4 for limit in limits)  # times as long as it takes


def test_a_setting_that_crashes_is_rejected_with_its_reason_and_not_tried_again() -> None:
    program = Program(lambda values: values.get("binding") == "core")
    result = _find(program)
    assert (Configuration.of({"binding": "core"}), "signal 11") in result.rejected
    assert sum(("binding", "core") in configuration.items for configuration in program.asked) == 1
    assert result.candidates[0].configuration == Configuration.of(
        {"allocator": "jemalloc", "binding": "socket"}
    )


def test_settings_that_crash_only_together_may_still_be_used_alone() -> None:
    program = Program(lambda values: {"binding", "allocator"} <= values.keys())
    result = _find(program)
    assert result.candidates[0].configuration == Configuration.of({"binding": "core"})
    assert Configuration.of({"allocator": "jemalloc"}) not in dict(result.rejected)


def test_a_search_may_find_nothing_better() -> None:
    def measure(configuration: Configuration, limit_s: float) -> Trial:
        wall_s = 1.0 if not configuration else 1.3
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)

    budget = Budget(runs=60)
    assert search(THREE, measure, budget).candidates == ()
    assert budget.remaining_runs  # because nothing better was expected


def test_a_search_without_limits_comes_to_an_end() -> None:
    program = Program()
    assert search(THREE, program, Budget()).candidates
    assert len(program.asked) < 120


def test_an_original_that_keeps_failing_is_an_error() -> None:
    def measure(configuration: Configuration, limit_s: float) -> Trial:
        return Trial(configuration, Phase.SEARCH, Outcome.FAILED, 0.1, exit_status=1, reason="exit status 1")

    with pytest.raises(ProgramFailedError, match="exit status 1"):
        search(THREE, measure, Budget(runs=20))


def test_a_space_in_which_everything_crashes_is_not_an_error() -> None:
    result = _find(Program(lambda values: bool(values)))
    assert result.candidates == ()
    assert len(result.rejected) == 5


def test_a_large_space_is_searched_in_reasonable_time() -> None:
    dimensions = tuple(Dimension(f"knob{i}", tuple(f"v{j}" for j in range(4)), 0.5) for i in range(15))

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        wall_s = 0.9 ** sum(value == "v2" for _, value in configuration.items)
        return Trial(configuration, Phase.SEARCH, Outcome.OK, wall_s, wall_s)

    result = search(SearchSpace(dimensions), measure, Budget(runs=60))
    assert result.candidates[0].expected_ratio > 1.6


def test_an_empty_space_needs_no_search() -> None:
    assert search(SearchSpace(), Program(), Budget(runs=10)).candidates == ()


def test_the_same_measurements_and_seed_give_the_same_search() -> None:
    first, other = landscape(5, noise=0.05), landscape(5, noise=0.05)
    results = [search(program.space, program.measure, Budget(runs=25), seed=3) for program in (first, other)]
    assert results[0] == results[1]


@pytest.mark.parametrize("interrupted_after", [1, 4, 11, 20])
def test_an_interrupted_search_goes_on_where_it_was(interrupted_after: int) -> None:
    undisturbed = landscape(7, noise=0.05)
    uninterrupted = _landscape_search(undisturbed, ())
    program = landscape(7, noise=0.05)
    done: list[Trial] = []

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        if len(done) == interrupted_after:
            raise KeyboardInterrupt
        done.append(program.measure(configuration, limit_s))
        return done[-1]

    with pytest.raises(KeyboardInterrupt):
        search(program.space, measure, Budget(runs=25), seed=3)
    resumed = _landscape_search(program, tuple(done))
    assert program.runs == undisturbed.runs
    assert resumed == uninterrupted


def _landscape_search(program: Landscape, recorded: tuple[Trial, ...]) -> SearchResult:
    return search(program.space, program.measure, Budget(runs=25), recorded, seed=3)


def test_the_best_so_far_is_known_without_running_anything() -> None:
    program = Program()
    _find(program)
    assert ("binding", "core") in best_so_far(THREE, program.trials[:6]).candidates[0].configuration.items


def test_observed_runs_of_the_original_are_not_made_again() -> None:
    observed = [
        replace(Trial(Configuration(), Phase.OBSERVE, Outcome.OK, 1.0, 1.0), number=i) for i in (1, 2, 3)
    ]
    program = Program()
    _find(program, recorded=observed)
    assert program.asked[0] == Configuration.of({"binding": "core"})


def test_trials_of_a_proof_are_never_looked_at() -> None:
    lie = Trial(Configuration.of({"yield": "on"}), Phase.PROOF, Outcome.OK, 0.001, 0.001)
    assert best_so_far(THREE, [lie]).candidates == ()


def test_an_objective_that_is_no_time_does_not_stop_runs_by_it() -> None:
    program = Program()

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        return replace(program(configuration, limit_s), wall_s=5.0)

    result = search(THREE, measure, Budget(runs=30), objective_is_time=False)
    assert all("stopped early" not in why for _, why in result.rejected)


def test_a_setting_whose_only_run_was_disturbed_is_looked_at_again() -> None:
    program = landscape(1008, noise=0.01, crashing=0.05)
    trials = list[Trial]()

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        trials.append(program.measure(configuration, limit_s))
        return trials[-1]

    result = search(program.space, measure, Budget(runs=25), seed=1008)
    first = next(t for t in trials if t.configuration.as_dict().get("knob1") == "v1")
    assert first.objective is not None
    assert first.objective > 1.3 * 0.5 * exp(program.truth[first.configuration] or 0.0)
    assert result.candidates[0].configuration.as_dict()["knob1"] == "v1"


@pytest.mark.parametrize("setting", [("binding", "core"), ("allocator", "jemalloc")])
def test_a_setting_whose_first_run_was_disturbed_is_found_all_the_same(setting: tuple[str, str]) -> None:
    result = _find(Disturbed(setting), runs=20)
    assert {("binding", "core"), ("allocator", "jemalloc")} <= set(result.candidates[0].configuration.items)


def test_a_run_that_was_stopped_for_being_slow_counts_once_it_comes_to_its_end() -> None:
    slow = Configuration.of({"binding": "socket"})
    trials = [
        *[Trial(Configuration(), Phase.SEARCH, Outcome.OK, 1.0, 1.0)] * 2,
        Trial(slow, Phase.SEARCH, Outcome.TIMED_OUT, 3.5, reason="too slow"),
        *[Trial(slow, Phase.SEARCH, Outcome.OK, 0.4, 0.4)] * 3,
    ]
    result = best_so_far(THREE, trials)
    assert result.candidates[0].configuration == slow
    assert result.rejected == ()


HEAVY = SearchSpace(
    (
        Dimension("mpi", ("other",), 0.9, weight=2),
        Dimension("binding", ("core",), 0.3),
    )
)


def test_a_heavy_setting_is_tried_after_all_others_however_much_it_promises() -> None:
    program = Program()
    search(HEAVY, program, Budget(runs=8))
    first = next(configuration for configuration in program.asked if configuration)
    assert first.as_dict() == {"binding": "core"}


@pytest.mark.parametrize(("gain", "is_kept"), [(0.98, False), (0.9, True)])
def test_a_heavy_setting_is_a_candidate_for_a_large_gain_only(monkeypatch, gain, is_kept) -> None:
    monkeypatch.setitem(GAINS, ("mpi", "other"), gain)
    result = search(HEAVY, Program(), Budget(runs=60))
    best = result.candidates[0].configuration.as_dict()
    assert best["binding"] == "core"
    assert ("mpi" in best) == is_kept
    if is_kept:
        assert result.left_out is None
    else:
        assert result.left_out is not None
        assert result.left_out[0].as_dict() == {"mpi": "other"}
        assert result.left_out[1] == pytest.approx(1 / gain, abs=0.01)


def test_a_gain_below_the_minimum_is_not_a_candidate(monkeypatch) -> None:
    monkeypatch.setitem(GAINS, ("binding", "core"), 0.96)
    space = SearchSpace((Dimension("binding", ("core",), 0.9),))
    assert search(space, Program(), Budget(runs=40), effect=0.01).candidates
    assert not search(space, Program(), Budget(runs=40), effect=0.1).candidates


def test_a_space_of_one_setting_is_known_after_a_few_runs(monkeypatch) -> None:
    program = Program()
    search(SearchSpace((Dimension("binding", ("core",), 0.9),)), program, Budget(runs=39))
    assert len(program.asked) <= 16


def test_a_run_that_was_stopped_as_too_slow_between_marks_is_slow_and_no_failure() -> None:
    class Marked(Program):
        def _run(self, configuration: Configuration, limit_s: float) -> Trial:
            trial = super()._run(configuration, 1e9)
            if trial.objective is not None and trial.objective > 2:
                return replace(trial, outcome=Outcome.TIMED_OUT, objective=None, at_least=2.0)
            return trial

    result = search(THREE, Marked(), Budget(runs=30), objective_is_time=False)
    assert "stopped early" in dict(result.rejected)[Configuration.of({"allocator": "bad", "binding": "core"})]
    assert result.candidates[0].configuration.as_dict()["binding"] == "core"

"""The smallest answer: settings without a shown contribution are dropped, missing ones return."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.support.noise import SimulatedProgram

from mpiric.lab.lab import LoggedTrials, drive
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.run import Outcome, Run, Trial
from mpiric.plans.prove import Proof, Unit
from mpiric.plans.smallest import SmallestAnswer
from mpiric.statistics.claims import StoppingRule
from mpiric.tuning.objective import Budget


def answer(*knobs: str) -> Configuration:
    return Configuration.of(dict.fromkeys(knobs, "on"))


def each_alone(configuration: Configuration) -> tuple[Unit, ...]:
    return tuple((knob,) for knob, _ in configuration.items)


def program(
    speedups: Mapping[str, float],
    together: Mapping[frozenset[str], float] | None = None,
    seed: int = 1,
) -> SimulatedProgram:
    return SimulatedProgram("lognormal", 0.02, seed, speedups, together)


class Proved:
    """A proof of an answer's parts, with all that it said on the way."""

    def __init__(
        self,
        measure: Callable[[Run], Trial],
        first: Configuration,
        budget: Budget | None = None,
        recorded: tuple[Trial, ...] = (),
        **how: Any,
    ) -> None:
        self.said: list[str] = []
        self.heard: list[Evidence] = []
        earlier = LoggedTrials(recorded)
        smallest = SmallestAnswer(
            first,
            each_alone,
            StoppingRule(),
            budget or Budget(),
            earlier.round_of,
            self.said.append,
            **how,
        )

        def hear(_: Trial) -> None:
            if smallest.proved is not None:
                self.heard.append(smallest.proved)

        self.found: Proof = drive(smallest.prove(), measure, hear, earlier)
        self.heard.append(self.found.evidence)
        self.dropped, self.rejected = smallest.dropped(self.found), smallest.rejected

    @property
    def kept(self) -> set[str]:
        return set(self.found.evidence.configuration.as_dict())


def test_settings_that_do_nothing_leave_the_answer_at_once() -> None:
    proved = Proved(program({"malloc": 1.5}), answer("eager", "malloc", "pages", "zero"))
    assert proved.kept == {"malloc"}
    assert proved.dropped == ("eager", "pages", "zero")
    assert proved.said == ["eager, pages, zero not shown to contribute: proving it without"]
    assert proved.found.evidence.verdict is Verdict.FASTER


def test_the_smaller_answer_is_proved_by_its_own_rounds() -> None:
    measured = program({"malloc": 1.5, "binding": 1.2})
    proved = Proved(measured, answer("binding", "malloc", "zero"))
    smaller = {
        t.pair for t in measured.made if t.configuration == answer("binding", "malloc") and t.replicate >= 0
    }
    larger = {t.pair for t in measured.made if t.configuration == answer("binding", "malloc", "zero")}
    assert proved.kept == {"binding", "malloc"}
    assert not smaller & larger
    assert all(share.shown for share in proved.found.evidence.shares)
    assert len(proved.found.evidence.pairs) >= 10


def test_an_answer_of_which_everything_contributes_is_proved_once() -> None:
    proved = Proved(program({"malloc": 1.5, "binding": 1.2}), answer("binding", "malloc"))
    assert proved.said == []
    assert proved.dropped == ()


def test_a_single_setting_needs_no_runs_without_it() -> None:
    measured = program({"malloc": 1.5})
    proved = Proved(measured, answer("malloc"))
    assert len(measured.made) == 18
    assert proved.found.evidence.shares == ()


@pytest.mark.parametrize("seed", range(5))
def test_one_of_two_equivalent_settings_stays(seed: int) -> None:
    cures = program({"malloc": 1.5, "jemalloc": 1.5}, {frozenset({"malloc", "jemalloc"}): 1 / 1.5}, seed)
    assert len(Proved(cures, answer("jemalloc", "malloc")).kept) == 1


@pytest.mark.parametrize("seed", range(5))
def test_one_of_several_dropped_settings_is_restored_if_missed(seed: int) -> None:
    speedups = {"malloc": 1.5, "jemalloc": 1.5, "binding": 1.3}
    cures = program(speedups, {frozenset({"malloc", "jemalloc"}): 1 / 1.5}, seed)
    proved = Proved(cures, answer("binding", "jemalloc", "malloc"))
    assert len(proved.kept & {"jemalloc", "malloc"}) == 1
    assert "binding" in proved.kept
    assert any("something of that is needed" in sentence for sentence in proved.said)


def test_intermediate_answers_are_reported_at_once() -> None:
    proved = Proved(program({"malloc": 1.5}), answer("malloc", "zero"))
    reported = [frozenset(evidence.configuration.as_dict()) for evidence in proved.heard]
    assert list(dict.fromkeys(reported)) == [{"malloc", "zero"}, {"malloc"}]


def test_an_answer_is_reported_before_all_of_its_shares_are_known() -> None:
    proved = Proved(program({"malloc": 1.5, "binding": 1.2}), answer("binding", "malloc"))
    assert not all(share.shown for share in proved.heard[0].shares)
    assert all(share.shown for share in proved.heard[-1].shares)


def test_without_budget_for_another_proof_the_larger_answer_lists_unproved_settings() -> None:
    proved = Proved(program({"malloc": 1.5}), answer("malloc", "zero"), Budget(runs=28))
    assert proved.kept == {"malloc", "zero"}
    share = proved.found.evidence.share_of("zero")
    assert share is not None
    assert not share.shown
    assert "nothing shown" in share.why or "budget" in share.why


def test_contributions_shown_in_a_larger_answer_need_no_runs_in_the_smaller_one() -> None:
    measured = program({"malloc": 1.5, "binding": 1.3})
    proved = Proved(measured, answer("binding", "malloc", "zero"))
    smaller = answer("binding", "malloc")
    rounds = {t.pair for t in measured.made if t.configuration == smaller and t.replicate >= 0}
    measured_trials = [t for t in measured.made if t.pair in rounds]
    share = proved.found.evidence.share_of("malloc")
    assert share is not None
    assert share.shown
    assert share.runs > sum(t.configuration == answer("binding") for t in measured_trials)


def test_a_setting_that_looks_useful_when_the_runs_end_stays_and_is_marked() -> None:
    measured = SimulatedProgram("lognormal", 0.1, 3, {"malloc": 1.6, "binding": 1.25})
    proved = Proved(measured, answer("binding", "malloc"), Budget(runs=40))
    share = proved.found.evidence.share_of("binding")
    assert proved.kept == {"binding", "malloc"}
    assert share is not None
    assert (share.shown, share.is_likely) == (False, True)


def test_runs_without_a_setting_leave_room_for_the_proof_of_the_smaller_answer() -> None:
    proved = Proved(program({"malloc": 1.5}), answer("a", "b", "c", "malloc"), Budget(runs=70))
    assert proved.kept == {"malloc"}


def test_where_runs_are_few_the_settings_are_looked_at_before_anything_is_proved() -> None:
    measured = program({"malloc": 1.5})
    proved = Proved(measured, answer("a", "b", "c", "malloc"), Budget(runs=52))
    assert proved.kept in ({"malloc"}, {"malloc", "b"})
    assert proved.found.evidence.verdict is Verdict.FASTER
    first = [t.configuration for t in measured.made[:8]]
    assert Configuration() not in first


def test_with_few_runs_settings_without_contribution_in_the_search_are_not_proved() -> None:
    measured = program({"malloc": 1.5})
    proved = Proved(measured, answer("a", "b", "malloc"), Budget(runs=24), doubtful=("b", "a"))
    assert proved.kept == {"malloc"}
    assert proved.said == ["b, a not seen to contribute: proving it without"]
    assert proved.dropped == ("a", "b")
    assert proved.found.evidence.verdict is Verdict.FASTER
    assert {t.configuration for t in measured.made} == {Configuration(), answer("malloc")}


def test_with_enough_budget_the_estimates_of_the_search_are_not_used() -> None:
    proved = Proved(program({"malloc": 1.5, "b": 1.3}), answer("b", "malloc"), doubtful=("b",))
    assert proved.kept == {"b", "malloc"}
    assert proved.said == []


def test_of_an_answer_of_which_all_is_doubtful_the_most_useful_setting_is_proved() -> None:
    proved = Proved(
        program({"malloc": 1.5}), answer("a", "malloc"), Budget(runs=24), doubtful=("a", "malloc")
    )
    assert proved.kept == {"malloc"}


def test_clear_contributions_of_the_search_are_not_checked_first() -> None:
    measured = program({"malloc": 1.5, "binding": 1.3})
    uninterrupted = answer("a", "binding", "malloc")
    proved = Proved(measured, uninterrupted, Budget(runs=36), evident=("binding", "malloc"))
    assert proved.kept == {"binding", "malloc"}
    first = next(n for n, trial in enumerate(measured.made) if not trial.configuration)
    looked_at = {trial.configuration for trial in measured.made[:first]}
    assert {uninterrupted, answer("binding", "malloc")} >= looked_at
    assert answer("binding", "malloc") in looked_at


def test_budget_time_counts_runs_of_the_answer_and_stopped_pairs() -> None:
    """Runs as long as the original's would leave no room for a smaller answer in 24 s."""
    measured = program({"malloc": 5.0})
    budget = Budget(seconds=24.0, clock=lambda: sum(trial.wall_s for trial in measured.made))
    several = answer("a", "b", "c", "malloc")
    proved = Proved(measured, several, budget, run_s=1.0, answer_s=0.2, stops=True)
    assert proved.kept == {"malloc"}
    assert proved.found.evidence.verdict is Verdict.FASTER


def test_time_around_runs_is_kept_for_the_pairs_that_prove_the_answer() -> None:
    """Runs without each setting fit into the budget by their own times, but not with their overhead."""
    measured = program({"a": 1.3, "malloc": 1.5})
    budget = Budget(seconds=90.0, clock=lambda: sum(trial.wall_s + 3.0 for trial in measured.made))
    proved = Proved(measured, answer("a", "malloc"), budget)
    assert proved.found.evidence.verdict is Verdict.FASTER
    assert budget.elapsed_s <= 90.0


def test_an_answer_that_takes_long_is_left_undecided_for_the_smaller_one() -> None:
    measured = SimulatedProgram("lognormal", 0.05, 0, {"malloc": 1.08})
    proved = Proved(measured, answer("a", "b", "malloc"))
    assert proved.kept == {"malloc"}
    assert all(
        "malloc" in e.configuration.as_dict() and len(e.configuration.items) == 1 for e in proved.heard
    )


def test_a_smaller_answer_that_fails_is_rejected_and_the_larger_one_stands() -> None:
    script = program({"malloc": 1.5})
    failing = answer("malloc")

    def measure(run: Run) -> Trial:
        trial = script(run)
        if run.configuration == failing and run.replicate >= 0:
            return Trial(failing, run.phase, Outcome.FAILED, 1.0, reason="signal 11", pair=run.pair)
        return trial

    proved = Proved(measure, answer("malloc", "zero"))
    assert proved.kept == {"malloc", "zero"}
    assert proved.rejected == [(failing, "signal 11")]
    assert proved.found.evidence.verdict is Verdict.FASTER


@pytest.mark.parametrize("limit", [5, 20, 40, 60])
def test_an_interrupted_sequence_of_proofs_repeats_no_round(limit: int) -> None:
    measured = program({"malloc": 1.5})
    first = answer("malloc", "zero")
    uninterrupted = Proved(measured, first)
    recorded = tuple(measured.made[:limit])
    continuation = program({"malloc": 1.5}, seed=4)
    proved = Proved(continuation, first, recorded=recorded)
    assert proved.kept == uninterrupted.kept == {"malloc"}
    assert len(continuation.made) <= len(measured.made) - limit + 18
    recorded_runs, new_runs = (
        {(t.pair, t.configuration, t.replicate) for t in trials} for trials in (recorded, continuation.made)
    )
    assert {pair for pair, _, _ in recorded_runs & new_runs} <= {recorded[-1].pair}, "halves of pairs alone"

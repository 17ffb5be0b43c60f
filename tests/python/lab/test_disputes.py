"""A rejection that the original itself would earn is withdrawn, whenever that turns out."""

from pathlib import Path

import pytest
from tests.support.scripted_runner import Behaviour, ScriptedRunner
from tests.support.trials_stand import BOUND, Stand

from mpiric.lab.failures import MANY, Disputes, RejectedRun
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial

FREE = Configuration.of({"binding": "none"})


@pytest.fixture
def stand(tmp_path):
    """Trials whose runs print or write these numbers, one after the other; two have been learned from."""

    def make(*numbers: int, in_file: bool = False):
        def of(number: int) -> Behaviour:
            text = f"count {number} of it\n"
            return Behaviour(files={"out.txt": text}) if in_file else Behaviour(stdout=text)

        nth = {run: of(number) for run, number in enumerate((5, 5, *numbers), 1)}
        bench = Stand(tmp_path, runner=ScriptedRunner(nth=nth))
        bench.learn()
        return bench

    return make


def logged(bench: Stand) -> list[Outcome]:
    return [trial.outcome for trial in bench.log.read().trials]


@pytest.mark.parametrize("in_file", [False, True])
def test_a_value_that_differs_in_a_later_original_does_not_reject(stand, in_file):
    bench = stand(6, 7, 8, in_file=in_file)
    trial = bench.run(BOUND)
    assert (trial.outcome, trial.objective) == (Outcome.OK, trial.wall_s)
    assert bench.run(BOUND).outcome is Outcome.OK
    assert logged(bench) == [Outcome.OK] * 5
    assert len(bench.runner.launches) == 5


@pytest.mark.parametrize("in_file", [False, True])
def test_a_rejection_is_withdrawn_when_an_original_differs_much_later(stand, in_file):
    bench = stand(6, 5, 5, 9, in_file=in_file)
    trial = bench.run(BOUND)
    assert trial.outcome is Outcome.DIFFERENT
    bench.run()
    assert bench.lab.corrected == []
    bench.run()
    (cleared,) = bench.lab.corrected
    assert (cleared.number, cleared.outcome, cleared.objective) == (trial.number, Outcome.OK, trial.wall_s)
    assert bench.log.read().trials[trial.number - 1].outcome is Outcome.OK


def test_a_difference_that_no_original_shows_stays_a_rejection(stand):
    bench = stand(6, 5, 6, 5)
    assert [bench.run(BOUND).outcome for _ in range(2)] == [Outcome.DIFFERENT] * 2
    assert bench.lab.corrected == []


def test_many_settings_that_differ_at_one_place_are_in_question(tmp_path):
    disputes = Disputes()
    for number in range(MANY):
        assert disputes.in_question() == {}
        configuration = Configuration.of({"binding": str(number)})
        stdout = str(tmp_path / f"{number}.stdout")
        trial = Trial(configuration, Phase.SEARCH, Outcome.OK, 1.0, number=number, stdout=stdout)
        disputes.add(RejectedRun(trial, "count # 0", {}, ()))
    assert [len(runs) for runs in disputes.in_question().values()] == [MANY]


def test_lines_that_the_user_calls_no_results_are_not_compared(stand, tmp_path):
    import re

    bench = stand(6, 7)
    bench.lab.judge.ignored = re.compile("^count")
    bench.lab.judge.learn(bench.log.read().trials, compare=True)
    assert bench.run(BOUND).outcome is Outcome.OK


def test_output_that_varies_in_every_run_is_reported(tmp_path):
    nth = {run: Behaviour(stdout=f"sum {run}.25\n") for run in range(1, 4)}
    bench = Stand(tmp_path, runner=ScriptedRunner(nth=nth))
    bench.learn()
    assert "was not compared" in bench.lab.judge.uncompared


def test_copies_of_rejected_files_are_stored_with_the_output(stand, tmp_path):
    bench = stand(6, 5, in_file=True)
    trial = bench.run(BOUND)
    assert (Path(trial.stdout).with_suffix(".rejected") / "out.txt").read_text() == "count 6 of it\n"

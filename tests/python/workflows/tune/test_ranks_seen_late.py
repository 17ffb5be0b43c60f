"""A first look that ends before the launcher has started the ranks says nothing of these."""

from dataclasses import replace

import pytest
from tests.support.recorded_tune import PROGRAM, RecordedTune, rank
from tests.support.stepping_runner import SteppingRunner

from mpiric.model.run import Phase

LAUNCHER = replace(rank(0), rank=None, program="/usr/bin/orterun", libraries=())
NOT_LOADED = replace(rank(1), libraries=("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",))


class LateRunner(SteppingRunner):
    """Runner with other ranks in its first launches."""

    early: tuple = ()
    looks = 0

    def execute(self, *args, **options):
        executed = super().execute(*args, **options)
        self.looks += 1
        return (
            replace(executed, ranks=self.early[self.looks - 1 : self.looks][0])
            if (self.looks <= len(self.early))
            else executed
        )


def tune_with(early, tmp_path, monkeypatch):
    runner = LateRunner(ranks=(rank(0), rank(1)))
    runner.early = early
    runner.take_over(monkeypatch)
    tune = RecordedTune(tmp_path, runner)
    return tune(budget_s=600.0), tune.trials


@pytest.mark.parametrize(
    ("early", "looks"),
    [
        ((), 1),
        (((LAUNCHER,),), 2),
        (((rank(0), NOT_LOADED),), 2),
        (((LAUNCHER,), (rank(0),)), 3),
        (((),), 2),
    ],
)
def test_the_command_is_looked_at_until_its_ranks_are_up(runtime, tmp_path, monkeypatch, early, looks):
    tuned, trials = tune_with(early, tmp_path, monkeypatch)
    assert tuned.scope == "steps"
    first = next(at for at, trial in enumerate(trials) if trial.phase is Phase.RECORD)
    assert first == looks
    assert trials[0].wall_s < trials[first - 1].wall_s or looks == 1
    assert PROGRAM in tuned.job.argv

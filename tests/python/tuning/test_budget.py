from mpiric.tuning.objective import Budget


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_runs_out() -> None:
    clock = Clock()
    budget = Budget(seconds=60, clock=clock)
    assert budget.runs_that_fit(10) == 6
    clock.now = 45
    assert budget.remaining_s == 15
    assert budget.fits(10)
    assert not budget.fits(10, runs=2)


def test_runs_run_out() -> None:
    budget = Budget(runs=3)
    budget.spend(2)
    assert budget.fits(1000)
    budget.spend()
    assert not budget.fits(0.001)
    assert budget.remaining_runs == 0


def test_without_limits_everything_fits() -> None:
    assert Budget().fits(1e9, runs=10**6)

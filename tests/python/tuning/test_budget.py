import pytest

from mpiric.model.errors import MpiricError
from mpiric.tuning.budget import Budget, parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("2.5h", 9000), ("45", 45), (" 1D ", 86400)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "-5m", "10x", "5m!", "1e9", "99999d", "0s", "nan", "inf", "١m", "1" * 99]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(MpiricError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.312, "0.312 s"), (42.4, "42 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (60, "1 min")],
)
def test_durations_are_shown(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


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


def test_a_share_counts_from_what_is_left() -> None:
    clock = Clock()
    budget = Budget(seconds=100, runs=10, clock=clock)
    clock.now = 50
    share = budget.share(0.5)
    assert (share.remaining_s, share.remaining_runs) == (25, 5)


def test_without_limits_everything_fits() -> None:
    assert Budget().fits(1e9, runs=10**6)

import pytest

from mpiric.model.amount import parse_duration, show_duration
from mpiric.model.errors import MpiricError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("2.5h", 9000), ("45", 45), (" 1D ", 86400)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "-5m", "10x", "5m!", "1e9", "99999d", "0s", "nan", "inf", "١m", "1" * 99]
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(MpiricError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.312, "0.312 s"), (42.4, "42 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (60, "1 min")],
)
def test_durations_are_shown(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text

"""Shares on the command line: percent or fractions."""

import click
import pytest

from mpiric.cli._options import share


@pytest.mark.parametrize(("text", "fraction"), [("1%", 0.01), ("0.05", 0.05), ("100%", 1.0), ("0", 0.0)])
def test_shares_are_read_as_percent_or_fraction(text: str, fraction: float) -> None:
    assert share()(text) == fraction


@pytest.mark.parametrize("text", ["", "-1%", "101%", "nan", "much", "inf"])
def test_no_share_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not a share"):
        share()(text)


def test_zero_is_refused_where_a_share_must_be_positive() -> None:
    with pytest.raises(click.BadParameter):
        share(is_positive=True)("0%")


def test_an_imbalance_may_exceed_one() -> None:
    assert share(100.0)("150%") == 1.5

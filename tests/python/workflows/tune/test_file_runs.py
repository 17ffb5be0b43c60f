"""Bytes that a tune may write, and the group of its knobs of files."""

import pytest

from mpiric.model.errors import MpiricError
from mpiric.workflows.tune.file_runs import check_io_budget


@pytest.mark.parametrize("text", ["", "5%", "100%", "20GiB", "1.5 TiB", "4096"])
def test_sizes_and_shares_are_budgets(text):
    assert check_io_budget(text) == text


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-1GiB", "20GB/s", "much", "20 G"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(MpiricError, match="is no size") as refused:
        check_io_budget(text)
    assert "20GiB" in refused.value.hint

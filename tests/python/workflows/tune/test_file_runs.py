"""Bytes that a tune may write, and the group of its knobs of files."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, situation
from tests.support.written_files import lustre, writing

from mpiric.model.errors import MpiricError
from mpiric.workflows.tune.file_runs import allowed_bytes, check_io_budget


@pytest.mark.parametrize("text", ["", "5%", "100%", "20GiB", "1.5 TiB", "4096"])
def test_sizes_and_shares_are_budgets(text):
    assert check_io_budget(text) == text


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-1GiB", "20GB/s", "much", "20 G"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(MpiricError, match="size") as refused:
        check_io_budget(text)
    assert "20GiB" in refused.value.hint


@pytest.mark.parametrize(
    ("quota_free_bytes", "allowed"), [(None, 5 << 20), (20 << 20, 1 << 20), (0, 0), (200 << 20, 5 << 20)]
)
def test_the_default_limit_of_written_bytes_is_a_share_of_quota_and_disk(quota_free_bytes, allowed):
    system = replace(lustre(), free_bytes=100 << 20, quota_free_bytes=quota_free_bytes)
    case = writing(situation(MPIS[0], ranks=8, nodes=4), system=system)
    assert allowed_bytes("", case) == allowed
    assert allowed_bytes("1MiB", case) == 1 << 20

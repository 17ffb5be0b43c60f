"""Environment in which glibc fills memory, combined with the user's tunables."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, situation

from mpiric.lab.lab import on_filled_memory


@pytest.mark.parametrize(
    ("tunables", "filled"),
    [
        ({}, "glibc.malloc.perturb=85"),
        ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}, "glibc.malloc.arena_max=1:glibc.malloc.perturb=85"),
    ],
)
def test_settings_of_the_user_stay(tunables, filled):
    before = situation(MPIS[0])
    before = replace(before, job=replace(before.job, environment={"HOME": "/root", **tunables}))
    assert on_filled_memory(before).job.environment == {"HOME": "/root", "GLIBC_TUNABLES": filled}
    assert on_filled_memory(before).job.argv == before.job.argv

"""The comparison of predicted and measured gains chooses settings and counts as it says."""

import pytest
from benchmarks.advice import factor, setting_of, summary_of


def finding(*commands, knobs=()):
    return {"commands": list(commands), "knobs": list(knobs)}


def test_the_setting_that_a_finding_proposes_is_run():
    proposed = finding("mpiric run --set malloc=keep-memory -- ./a", knobs=["malloc"])
    assert setting_of(proposed, ("huge-pages=transparent",)) == "malloc=keep-memory"


def test_without_a_proposal_the_cure_with_a_knob_of_the_finding_is_run():
    cures = ("allocator=jemalloc|mimalloc", "eager-node=64KiB|256KiB + network-library=own")
    assert setting_of(finding(knobs=["eager-node"]), cures) == "eager-node=64KiB network-library=own"
    assert setting_of(finding(knobs=["binding"]), cures) == ""


@pytest.mark.parametrize(
    ("expected", "gain", "ratio"), [(0.1, 0.2, 2.0), (0.2, 0.1, 2.0), (0.0, 0.01, 1.0), (0.0, -0.5, 1.0)]
)
def test_the_factor_is_symmetric_and_leaves_noise_out(expected, gain, ratio):
    assert factor(expected, gain) == pytest.approx(ratio)


def test_the_summary_counts_rows_with_a_range():
    rows = [{"factor": 1.2, "in_range": True}, {"factor": None, "in_range": False}]
    assert "1.20 (of 1); measured gain within the stated range in 1 of 2 (50%)" in summary_of(rows)

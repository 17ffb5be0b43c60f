"""Causes of a bend from the efficiencies of two recorded sizes."""

import pytest

from mpiric.model.scaling import Factors, Interval, Size, SizeResult
from mpiric.workflows.scale.causes import RecordedSize, causes_of

SMALL, LARGE = Size(2), Size(16)


def recorded(size, efficiency=1.0, load_balance=1.0, serialisation=1.0, transfer=1.0, files=0.0, **evidence):
    """Return a size with this efficiency; the program computes for 32 s with the full efficiency."""
    time_s = 32.0 / size.cores / efficiency
    useful = load_balance * serialisation * transfer
    one = Interval(1.0, 1.0, 1.0)
    result = SizeResult(size, Interval(time_s, time_s, time_s), 3, one, Interval(efficiency, 0.0, 1.0))
    return RecordedSize(
        result, Factors(size, load_balance, serialisation, transfer, files, useful, **evidence)
    )


def causes(efficiency, large=LARGE, further_records=(), is_weak=False, before=None, **after):
    small = recorded(SMALL, **(before or {}))
    return causes_of(small, recorded(large, efficiency, **after), further_records, is_weak=is_weak)


def test_transfer():
    (cause,) = causes(0.6, transfer=0.6)
    assert cause == "messages take a larger share of the time: transfer between ranks (efficiency × 0.60)"


def test_unequal_work():
    assert causes(0.6, load_balance=0.6)[0].startswith("ranks have unequal work")


def test_the_largest_loss_comes_first():
    first, second = causes(0.4, transfer=0.8, serialisation=0.5)
    assert first.startswith("ranks wait in MPI")
    assert second.startswith("messages")


SERIAL = "computing takes more core time in total: every rank repeats a serial part"
MEMORY = "computing takes more core time in total: the cores of a node share memory bandwidth"
INSTRUCTIONS = {"before": {"instructions_per_s": 2e9}}


def test_without_evidence_a_fuller_node_may_be_memory_bandwidth_or_a_serial_part():
    (cause,) = causes(0.6)
    assert "Either the cores of a node share memory bandwidth, or every rank repeats a serial part" in cause


def test_useful_time_that_grows_on_more_nodes_is_a_serial_part_of_a_known_size():
    (cause,) = causes(0.5, large=Size(16, nodes=8))
    assert cause.startswith(f"{SERIAL}, about 14 % of its computing with 2 ranks")


def test_fewer_instructions_per_second_are_memory_bandwidth():
    assert causes(0.6, **INSTRUCTIONS, instructions_per_s=1.2e9)[0].startswith(MEMORY)


def test_as_many_instructions_per_second_are_a_serial_part():
    assert causes(0.6, **INSTRUCTIONS, instructions_per_s=1.98e9)[0].startswith(SERIAL)


def test_a_fixed_computation_that_takes_longer_is_the_clock_frequency():
    (cause,) = causes(0.8, before={"reference_us": 250.0}, reference_us=300.0)
    assert "lower clock frequency" in cause
    assert "takes 1.20 times as long" in cause


def test_a_fixed_computation_that_explains_little_leaves_the_memory():
    before = {"reference_us": 250.0, "instructions_per_s": 2e9}
    (cause,) = causes(0.5, before=before, reference_us=260.0, instructions_per_s=1e9)
    assert cause.startswith(MEMORY)


def test_weak_scaling_on_a_fuller_node_is_memory_bandwidth():
    (cause,) = causes(0.6, is_weak=True)
    assert cause.startswith("computing takes more time: the cores of a node share memory bandwidth")


@pytest.mark.parametrize(
    ("on_full_node", "on_four", "answer"), [(0.6, 0.6, MEMORY), (0.93, 0.6, SERIAL)], ids=["memory", "serial"]
)
def test_a_third_record_with_as_many_ranks_per_node_tells_them_apart(on_full_node, on_four, answer):
    large, full = Size(32, nodes=4), recorded(Size(8), on_full_node)
    (cause,) = causes(on_four, large=large, further_records=[full])
    assert cause.startswith(answer)


def test_files():
    assert causes(0.6, files=0.4)[0].startswith("file operations take 40 % of the time instead of 0 %")


def test_no_cause_without_a_loss():
    assert causes(1.0) == []

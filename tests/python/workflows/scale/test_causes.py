"""Causes of a bend from the efficiencies of two recorded sizes."""

from mpiric.model.scaling import Factors, Interval, Size, SizeResult
from mpiric.workflows.scale.causes import causes_of

SMALL, LARGE = Size(2), Size(16)


def result(size, efficiency):
    one = Interval(1.0, 1.0, 1.0)
    return SizeResult(size, one, 3, one, Interval(efficiency, efficiency, efficiency))


def factors(size, load_balance=1.0, serialisation=1.0, transfer=1.0, files=0.0):
    return Factors(
        size, load_balance, serialisation, transfer, files, load_balance * serialisation * transfer
    )


def causes(efficiency, large=LARGE, **after):
    before = factors(SMALL)
    return causes_of(
        result(SMALL, 1.0), result(large, efficiency), before, factors(large, **after), is_weak=False
    )


def test_transfer():
    (cause,) = causes(0.6, transfer=0.6)
    assert cause == "messages take a larger share of the time: transfer between ranks (efficiency × 0.60)"


def test_unequal_work():
    assert causes(0.6, load_balance=0.6)[0].startswith("ranks have unequal work")


def test_the_largest_loss_comes_first():
    first, second = causes(0.4, transfer=0.8, serialisation=0.5)
    assert first.startswith("ranks wait in MPI")
    assert second.startswith("messages")


def test_useful_time_that_grows_on_a_fuller_node_may_be_memory_bandwidth():
    assert "share memory bandwidth" in causes(0.6)[0]


def test_useful_time_that_grows_on_more_nodes_is_a_serial_part():
    (cause,) = causes(0.6, large=Size(16, nodes=8))
    assert cause.startswith("computing takes more core time in total: every rank repeats a serial part")


def test_files():
    assert causes(0.6, files=0.4)[0].startswith("file operations take 40 % of the time instead of 0 %")


def test_no_cause_without_a_loss():
    assert causes(1.0) == []

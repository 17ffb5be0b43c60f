"""Large nonblocking messages that make no progress while the program computes."""

from dataclasses import replace

from tests.support.records import cell, rank, record

from mpiric.model.record import Record
from mpiric.profile.analyse import analyse

LARGE = 4 << 20
CLASSES = {"MPI_Isend": "start", "MPI_Irecv": "start", "MPI_Waitall": "wait", "MPI_Init": "manage"}


def exchange(bytes_: int, wait_s: float) -> Record:
    """Two ranks that exchange 50 messages and wait for them."""
    cells = (cell("MPI_Isend", 50, 50 * bytes_, 0.001), cell("MPI_Waitall", 50, 0, wait_s))
    return replace(record(*(rank(number, 1.0, *cells) for number in (0, 1))), function_classes=CLASSES)


def found(recorded: Record) -> bool:
    return "no-progress-while-computing" in {item.finding.id for item in analyse(recorded).advice}


def test_large_messages_and_time_in_wait_are_a_finding():
    advice = next(
        item
        for item in analyse(exchange(LARGE, 0.3)).advice
        if item.finding.id == "no-progress-while-computing"
    )
    assert "100 nonblocking messages have 64 KiB or more" in advice.finding.evidence
    assert "30 % of the time" in advice.finding.evidence.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert advice.knobs[0] == "async-progress"


def test_small_messages_need_no_help():
    assert not found(exchange(1024, 0.3))


def test_short_waits_are_no_finding():
    assert not found(exchange(LARGE, 0.01))


def test_a_program_without_computation_has_nothing_to_overlap():
    assert not found(exchange(LARGE, 0.95))

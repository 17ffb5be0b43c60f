"""The call in flight of a rank, and the end of a run from outside."""

import json
import lzma
import struct
from pathlib import Path

import pytest

from mpiric.model.errors import MpiricError
from mpiric.model.record import RankState
from mpiric.profile import layout
from mpiric.profile.image import read_head
from mpiric.profile.read import ENDED, read_record
from mpiric.profile.standing import standings

PART = Path(__file__).parents[2] / f"data/record/v{layout.VERSION}/killed.part.xz"
IN_FLIGHT, COMMUNICATOR, PEER, TAG, AMOUNT, SOURCE, REQUEST, REQUESTS = (1 << bit for bit in range(8))
TYPE = 0x4C00080B  # MPI_DOUBLE of MPICH


class Part:
    """The part of a killed rank, whose calls are replaced."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "rank-0.n1.77.part"
        self._data = bytearray(lzma.decompress(PART.read_bytes()))
        head = read_head(memoryview(self._data))
        self._sections = head.sections
        self.begin_ticks = head.begin_ticks
        names = bytes(self._data[self._sections["names"][0] :][: self._sections["names"][1]])
        self.functions = [line.split()[0].decode() for line in names.splitlines()]
        (self.world,) = struct.unpack_from("<Q", self._data, self._sections["handles"][0])

    def write(self, *calls: tuple[str, dict[str, int]]) -> Path:
        offset, used, _ = self._sections["calls"]
        for at in range(used):
            layout.CALL.pack_into(self._data, offset + at * layout.CALL.size, *[0] * 10)
        for at, (function, fields) in enumerate(calls):
            row = {"communicator": self.world, "datatype": TYPE, "function": self.functions.index(function)}
            layout.CALL.pack_into(
                self._data,
                offset + at * layout.CALL.size,
                self.begin_ticks + 10 + at,
                *(
                    fields.get(name, row.get(name, 0))
                    for name in ("address", "communicator", "count", "datatype")
                ),
                fields.get("other", 0),
                row["function"],
                fields["known"],
                fields.get("peer", 0),
                fields.get("tag", 0),
            )
        self.path.write_bytes(self._data)
        return self.path

    def call(self, *calls):
        (rank,) = read_record(self.write(*calls)).ranks
        return rank.call


@pytest.fixture
def part(tmp_path):
    return Part(tmp_path)


def test_a_rank_that_died_outside_mpi_is_in_no_call(part):
    (rank,) = read_record(part.write()).ranks
    assert rank.state is RankState.RUNNING
    assert rank.call is None
    assert rank.begin_unix_s < rank.left_unix_s <= rank.begin_unix_s + rank.wall_s + 1


def test_a_send_has_peer_tag_and_bytes(part):
    fields = IN_FLIGHT | COMMUNICATOR | PEER | TAG | AMOUNT
    call = part.call(("MPI_Send", {"known": fields, "peer": 1, "tag": 5, "count": 20_000}))
    assert (call.function, call.communicator, call.peer, call.tag) == ("MPI_Send", 0, 1, 5)
    assert (call.count, call.bytes) == (20_000, 160_000)


def test_the_size_of_an_unknown_datatype_is_not_guessed(part):
    call = part.call(("MPI_Send", {"known": IN_FLIGHT | AMOUNT, "count": 3, "datatype": 77}))
    assert (call.count, call.bytes) == (3, None)


def test_a_wait_knows_the_calls_that_started_its_requests(part):
    started = {"known": COMMUNICATOR | PEER | REQUEST, "other": 9}
    call = part.call(
        ("MPI_Isend", {**started, "peer": 3}),  # an earlier request with the same handle
        ("MPI_Irecv", {**started, "peer": 2}),
        ("MPI_Wait", {"known": IN_FLIGHT | REQUESTS, "count": 1, "other": 9}),
    )
    assert [(one.function, one.peer) for one in call.started] == [("MPI_Irecv", 2)]
    assert call.requests == 1


def test_negative_counts_of_requests_are_read(part):
    call = part.call(("MPI_Waitall", {"known": IN_FLIGHT | REQUESTS, "count": (1 << 64) - 1}))
    assert (call.requests, call.started) == (-1, ())


def test_a_function_without_a_name_is_refused(part):
    data = bytearray(part.write(("MPI_Send", {"known": IN_FLIGHT})).read_bytes())
    offset = part._sections["calls"][0]
    struct.pack_into("<I", data, offset + 48, 1 << 30)
    part.path.write_bytes(data)
    with pytest.raises(MpiricError, match="refers to function"):
        read_record(part.path)


def ended(part: Part, *calls, after_s: float = 3.0, **process: object):
    part.write(*calls)
    begin_s = read_record(part.path).ranks[0].begin_unix_s
    data = {"unix_s": begin_s + after_s, "processes": {"0": {"state": "S", **process}}}
    (part.path.parent / ENDED).write_text(json.dumps(data))
    return read_record(part.path.parent)


def test_a_run_that_was_ended_lasted_until_then(part):
    record = ended(part)
    assert record.ranks[0].wall_s == pytest.approx(3.0)
    assert record.ranks[0].process.state == "S"


def test_cpu_time_counts_until_the_end(part):
    facts = ended(part, user_s=2.5, system_s=0.5, involuntary_switches=7).ranks[0].facts
    assert int(facts["time.user_us"]) + int(facts.get("before.user_us", 0)) >= 2_500_000
    assert int(facts["switches.involuntary"]) >= 7


def test_input_that_ended_with_the_run_does_not_hide_the_wait_for_it(part):
    after_s = read_record(part.write()).ranks[0].left_unix_s - read_record(part.path).ranks[0].begin_unix_s
    assert after_s > 0
    record = ended(part, after_s=after_s / 2, system_call="read", file="standard input (pipe:[7])")
    (waits,) = standings(record, record.ended_unix_s)
    assert waits.reads_input


def test_a_call_in_flight_takes_time_until_the_end(part):
    record = ended(part, ("MPI_Barrier", {"known": IN_FLIGHT | COMMUNICATOR}))
    (cell,) = [cell for cell in record.ranks[0].cells if cell.function == "MPI_Barrier"]
    assert (cell.calls, cell.time_s) == (1, pytest.approx(3.0, rel=0.01))
    (standing,) = standings(record, record.ended_unix_s)
    assert (standing.call, standing.on) == ("MPI_Barrier", "MPI_COMM_WORLD")
    assert standing.lasted_s == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"unix_s": "x", "processes": {}}', '{"unix_s": 1}'])
def test_a_damaged_end_is_ignored(part, text):
    part.write()
    (part.path.parent / ENDED).write_text(text)
    assert read_record(part.path.parent).ended_unix_s == 0


def test_texts_of_an_end_cannot_give_orders_to_a_terminal(part):
    record = ended(part, place="/a\x1b]0;mine\x07+0x1")
    assert "\x1b" not in record.ranks[0].process.place

"""Reading records: the sample of each version, and files that are damaged, cut, or made to hurt."""

import contextlib
import lzma
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiric.model.errors import MpiricError
from mpiric.model.record import RankState, TrafficKind
from mpiric.profile import layout
from mpiric.profile.cells import counted
from mpiric.profile.read import RecordError, read_record

DATA = Path(__file__).parents[2] / "data/record"
SAMPLE = DATA / f"v{layout.VERSION}/record.mpiric"  # sample.c on 4 ranks; killed.part.xz: on 1, killed


@pytest.fixture(scope="module", params=layout.LAYOUTS, ids="v{}".format)
def version(request):
    """Every version that is promised to be read."""
    return request.param


@pytest.fixture(scope="module")
def sample(version):
    return DATA / f"v{version}/record.mpiric"


@pytest.fixture(scope="module")
def part(version, tmp_path_factory):
    path = tmp_path_factory.mktemp("part") / "killed.part"
    path.write_bytes(lzma.decompress((DATA / f"v{version}/killed.part.xz").read_bytes()))
    return path


@pytest.fixture(scope="module", params=["merged", "part"])
def source(request, sample, part):
    return sample if request.param == "merged" else part


@pytest.fixture(scope="module")
def record(sample):
    return read_record(sample)


def test_ranks_are_all_there_in_order(record):
    assert [use.rank for use in record.ranks] == [0, 1, 2, 3]
    assert record.missing == ()


def test_messages_to_the_next_rank_are_exact(record):
    for use in record.ranks:
        to_next = [p for p in use.peers if p.world_rank == (use.rank + 1) % 4]
        assert [(p.kind, p.messages, p.bytes) for p in to_next] == [(TrafficKind.MESSAGE, 100, 400)]


def test_ranks_of_a_half_are_given_in_the_world(record):
    sender = record.ranks[0]  # rank 0 of the even half sends 500 bytes to rank 1 of it, which is rank 2
    assert [(p.messages, p.bytes) for p in sender.peers if p.world_rank == 2] == [(1, 500)]


def test_collective_volume_is_apart_from_messages(record):
    for use in record.ranks:
        cells = [cell for cell in use.cells if cell.function == "MPI_Allreduce"]
        assert (sum(cell.calls for cell in cells), sum(cell.bytes for cell in cells)) == (100, 800)
        assert {cell.size_bin for cell in cells} == {4}


def test_a_communicator_has_one_identity_on_all_its_ranks(record):
    halves = [next(row for row in use.communicators if row.name == "half") for use in record.ranks]
    assert halves[0].members == halves[2].members != halves[1].members == halves[3].members
    assert {row.ordinal for row in halves} == {0}


def test_each_function_has_a_class(record):
    assert record.function_classes["MPI_Send"] == "send"
    assert record.function_classes["MPI_Allreduce"] == "collective"


def test_facts_name_the_library_and_the_place(record):
    facts = record.ranks[0].facts
    assert facts["mpi.family"] == "mpich"
    assert facts["affinity"]
    assert int(facts["memory.peak_kib"]) > 0


def test_the_part_of_a_killed_rank_can_be_read(part):
    (rank,) = read_record(part).ranks
    assert rank.state is RankState.RUNNING
    assert sum(cell.calls for cell in rank.cells if cell.function == "MPI_Allreduce") == 50
    assert "allocator.us" not in rank.facts  # nobody counted


def test_a_directory_of_parts_is_one_record(part, tmp_path):
    shutil.copy(part, tmp_path / "rank-0.host.1.part")
    record = read_record(tmp_path)
    assert len(record.ranks) == 1
    assert record.world_size == 1


def test_a_damaged_part_costs_its_own_rank(part, tmp_path):
    (tmp_path / "rank-1.host.2.part").write_bytes(b"MPIRICI\n damaged")
    with pytest.raises(MpiricError, match="not a usable record"):
        read_record(tmp_path)
    shutil.copy(part, tmp_path / "rank-0.host.1.part")
    assert [use.rank for use in read_record(tmp_path).ranks] == [0]


def test_an_empty_directory_is_not_a_record(tmp_path):
    with pytest.raises(MpiricError, match="no record"):
        read_record(tmp_path)


def attempt(tmp_path: Path, data: bytes) -> None:
    """Reading either works or fails with our own error."""
    path = tmp_path / "record.mpiric"
    path.write_bytes(data)
    with contextlib.suppress(RecordError):
        read_record(path)


@pytest.mark.slow
def test_every_cut_gives_an_error_or_less(tmp_path, source):
    data = source.read_bytes()
    for length in [*range(400), *range(400, len(data), len(data) // 40)]:
        attempt(tmp_path, data[:length])


def test_a_merged_record_that_is_cut_is_refused(tmp_path):
    path = tmp_path / "record.mpiric"
    path.write_bytes(SAMPLE.read_bytes()[:-1])
    with pytest.raises(RecordError):
        read_record(path)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_flipped_bits_never_escape(tmp_path_factory, source, data):
    raw = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, min(len(raw), 2000) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    attempt(tmp_path_factory.mktemp("flipped"), bytes(raw))


def test_a_flipped_bit_in_a_rank_is_noticed(tmp_path):
    raw = bytearray(SAMPLE.read_bytes())
    raw[layout.MERGED_HEAD.size + layout.LAYOUTS[layout.VERSION].image.size + 300] ^= 1
    path = tmp_path / "record.mpiric"
    path.write_bytes(bytes(raw))
    with pytest.raises(RecordError, match="changed"):
        read_record(path)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_hostile_sizes_do_not_become_memory(tmp_path_factory, version, part, data):
    """Every offset, stride and count of the head replaced by anything."""
    form = layout.LAYOUTS[version]
    count = len(form.sections) * 3
    numbers = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=count, max_size=count))
    raw = bytearray(part.read_bytes()[:200_000])
    for position, number in enumerate(numbers):
        at = form.image.size + position * 8
        raw[at : at + 8] = number.to_bytes(8, "little")
    attempt(tmp_path_factory.mktemp("hostile"), bytes(raw))


@pytest.mark.parametrize("begins", [layout.RECORD_MAGIC, layout.IMAGE_MAGIC, b""])
def test_a_file_of_a_terabyte_is_refused_without_reading_it(tmp_path, begins):
    path = tmp_path / "record.mpiric"
    with path.open("wb") as file:
        file.write(begins)
        file.truncate(1 << 40)
    with pytest.raises(RecordError):
        read_record(path)


def test_a_record_whose_ranks_share_data_is_refused(tmp_path):
    raw = bytearray(SAMPLE.read_bytes())
    *_, index, _, _ = layout.MERGED_HEAD.unpack_from(raw)
    size = index - layout.MERGED_HEAD.size
    for rank in range(4):
        layout.MERGED_ENTRY.pack_into(
            raw, index + rank * layout.MERGED_ENTRY.size, layout.MERGED_HEAD.size, size, 0, rank
        )
    path = tmp_path / "record.mpiric"
    path.write_bytes(raw)
    with pytest.raises(RecordError, match="overlap"):
        read_record(path)


def test_names_cannot_give_orders_to_a_terminal(part, tmp_path):
    path = tmp_path / "rank-0.part"
    path.write_bytes(part.read_bytes().replace(b"(program)", b"\x1b]0;mine\x07"))
    (rank,) = read_record(path).ranks
    assert rank.regions[0].name == "\ufffd]0;mine\ufffd"


def test_another_version_is_named(tmp_path):
    raw = bytearray(SAMPLE.read_bytes())
    raw[8] = 99
    path = tmp_path / "record.mpiric"
    path.write_bytes(bytes(raw))
    with pytest.raises(RecordError, match="version 99"):
        read_record(path)


def test_structs_have_the_documented_sizes():
    assert layout.LAYOUTS[layout.VERSION].strides == {
        "cells": 192,
        "communicators": 64,
        "peers": 24,
        "regions": 64,
        "files": 248,
        "sites": 48,
        "names": 1,
        "facts": 1,
        "spans": 48,
        "pace": 40,
        "pace_times": 512,
        "file_details": 96,
        "calls": 64,
        "handles": 8,
        "datatypes": 16,
    }


def test_kinds_of_call_are_counted_on_every_rank_and_timed_on_the_first():
    for use in read_record(SAMPLE).ranks:
        paces = {call_pace.key.function: call_pace for call_pace in use.pace if call_pace.key.ranks == 4}
        assert {(name, call_pace.calls) for name, call_pace in paces.items()} == {
            ("MPI_Send", 100),
            ("MPI_Allreduce", 100),
        }
        assert all(call_pace.key.place.startswith("sample+0x") for call_pace in paces.values())
        assert {len(call_pace.times_s) for call_pace in paces.values()} == ({50} if use.rank == 0 else {0})


def test_records_before_version_3_have_no_pace():
    assert all(use.pace == () for use in read_record(DATA / "v2/record.mpiric").ranks)


def test_timelines_show_activities_and_phases_of_a_rank():
    """Half of the rounds are in phase 5 and mostly work, half are all messages and collectives."""
    record = read_record(SAMPLE)
    for use in record.ranks:
        timeline = use.timeline
        assert use.wall_s / 128 <= timeline.span_s <= use.wall_s
        assert {use.regions[at].name for at in timeline.region} == {"(program)", "level 5"}
        in_mpi = sum(map(sum, (timeline.point_to_point_s, timeline.collective_s, timeline.other_mpi_s)))
        kinds = record.function_classes
        timed_s = sum(cell.time_s for cell in counted(use) if kinds[cell.function] != "local")  # sampled
        assert in_mpi == pytest.approx(timed_s, rel=0.02)


def test_an_older_record_has_no_timelines():
    assert read_record(DATA / "v1/record.mpiric").ranks[0].timeline.region == ()

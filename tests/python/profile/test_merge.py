"""Merging of the parts of ranks into one file with the same content."""

import lzma
from pathlib import Path

import pytest

from mpiric.profile import layout
from mpiric.profile.read import merge_parts, read_record

DATA = Path(__file__).parents[2] / "data/record"


@pytest.fixture(params=layout.LAYOUTS, ids="v{}".format)
def directory(request, tmp_path):
    """Write the files that a killed rank leaves."""
    part = lzma.decompress((DATA / f"v{request.param}/killed.part.xz").read_bytes())
    (tmp_path / "rank-0.n1.77.part").write_bytes(part)
    return tmp_path


def test_the_merged_file_contains_the_data_of_the_part(directory):
    before = read_record(directory)
    assert merge_parts(directory)
    assert [path.name for path in directory.iterdir()] == ["record.mpiric"]
    assert read_record(directory) == before


def test_a_merged_record_is_much_smaller(directory):
    (part,) = directory.iterdir()
    size = part.stat().st_size
    merge_parts(directory)
    assert (directory / "record.mpiric").stat().st_size < size / 20


def test_a_merged_file_is_never_overwritten(directory):
    (directory / "record.mpiric").write_bytes(b"of an earlier run")
    assert not merge_parts(directory)
    assert (directory / "record.mpiric").read_bytes() == b"of an earlier run"


def test_a_damaged_part_keeps_all_of_them(directory):
    (directory / "rank-1.n1.78.part").write_bytes(b"MPIRICI\n damaged")
    assert not merge_parts(directory)
    assert len(list(directory.iterdir())) == 2

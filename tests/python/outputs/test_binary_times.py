"""Binary files that differ in time stamps alone are equal, others are not."""

import struct
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mpiric.outputs import time_forms
from mpiric.outputs.files import differ_in_times_alone, files_in, learn_files

NOW = datetime(2026, 11, 26, 13, 8, 2)
LATER = NOW + timedelta(minutes=2, seconds=31)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_forms, "now_s", LATER.timestamp)


def _netcdf(now: datetime, value: float = 0.25) -> bytes:
    """Like the header of a classic netCDF file: a global attribute, then data."""
    history = f"{now:%a %b %d %H:%M:%S %Y}: created by model".encode()
    return (
        b"CDF\x01\0\0\0\x01history\0"
        + struct.pack(">i", len(history))
        + history
        + struct.pack(">4d", *[value] * 4)
    )


def _hdf5(now: datetime, value: float = 0.25) -> bytes:
    """Like an object header of HDF5 with a modification time, and data."""
    head = b"\x89HDF\r\n\x1a\n" + bytes(24)
    return head + struct.pack("<IIII", 0x12, 8, 1, int(now.timestamp())) + struct.pack("<8d", *[value] * 8)


def _both(place: Path, first: bytes, second: bytes) -> bool:
    (place / "a").write_bytes(first)
    (place / "b").write_bytes(second)
    return differ_in_times_alone(place / "a", place / "b")


@pytest.mark.parametrize("form", [_netcdf, _hdf5])
def test_a_time_of_creation_is_not_a_difference(tmp_path: Path, form) -> None:
    assert _both(tmp_path, form(NOW), form(LATER))


@pytest.mark.parametrize("form", [_netcdf, _hdf5])
def test_a_change_of_another_value_is_a_difference(tmp_path: Path, form) -> None:
    assert not _both(tmp_path, form(NOW), form(LATER, 0.26))
    assert not _both(tmp_path, form(NOW), form(NOW, 0.26))


def test_a_date_of_the_model_is_a_difference(tmp_path: Path) -> None:
    assert not _both(tmp_path, b"\0\0days since 1850-01-01\0", b"\0\0days since 1850-01-02\0")


def test_another_length_is_a_difference(tmp_path: Path) -> None:
    assert not _both(tmp_path, b"\x00abc", b"\x00abcd")


@pytest.mark.parametrize("form", [_netcdf, _hdf5])
def test_originals_of_one_second_teach_the_same_as_others(tmp_path: Path, form) -> None:
    def run(name: str, data: bytes) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / "out.nc").write_bytes(data)
        return tmp_path / name

    later = run("later", form(LATER))
    wrong = run("wrong", form(LATER, 0.26))
    for originals in ([form(NOW)] * 2, [form(NOW), form(NOW + timedelta(seconds=1))]):
        number = len(list(tmp_path.iterdir()))
        expected = learn_files([run(f"{number}-{n}", data) for n, data in enumerate(originals)])
        assert expected.compare(files_in(later)) is None
        assert expected.compare(files_in(wrong)) is not None


def test_files_with_the_time_in_their_names_are_compared(tmp_path: Path) -> None:
    def run(name: str, now: datetime, text: str = "energy -42.5\n") -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"miniFE.2x2x2.P2.{now:%Y:%m:%d-%H:%M:%S}.yaml").write_text(text)
        return tmp_path / name

    expected = learn_files([run("a", NOW), run("b", NOW), run("c", NOW)])
    assert expected.compare(files_in(run("d", LATER))) is None
    wrong = expected.compare(files_in(run("e", LATER, "energy -42.6\n")))
    assert wrong is not None
    assert "-42.6" in wrong.sentence

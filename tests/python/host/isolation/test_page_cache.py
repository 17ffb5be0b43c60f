"""Files brought to the disk and dropped from memory."""

import pytest

from mpiric.host.files import drop_cached, make_safe


def test_files_are_made_safe_and_keep_their_bytes(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"x" * 100_000)
    assert make_safe([file, tmp_path / "gone"]) >= 0
    drop_cached([file, tmp_path / "gone", tmp_path])
    assert file.read_bytes() == b"x" * 100_000


def test_bytes_that_the_file_system_lost_are_an_error(monkeypatch, tmp_path):
    (tmp_path / "data").write_bytes(b"x")

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mpiric.host.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        make_safe([tmp_path / "data"])

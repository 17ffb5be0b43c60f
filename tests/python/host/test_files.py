"""Bounded reads of files."""

import pytest

from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.model.errors import MpiricError


def test_a_kernel_parameter_is_read_with_a_large_limit():
    """The kernel refuses a single read of this size with ENOMEM."""
    assert read_bounded("/proc/sys/kernel/osrelease", "text file", LARGEST_TEXT_BYTES).strip()


def test_a_file_longer_than_one_read_is_complete(tmp_path):
    content = bytes(range(256)) * 9000
    (tmp_path / "long").write_bytes(content)
    assert read_bounded(tmp_path / "long", "file", LARGEST_TEXT_BYTES) == content


def test_a_file_at_the_limit_is_read_and_a_longer_one_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bounded(tmp_path / "file", "file", 5) == b"12345"
    with pytest.raises(MpiricError):
        read_bounded(tmp_path / "file", "file", 4)

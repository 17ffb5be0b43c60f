"""The digest of a file does not depend on the number of parts that are read at a time."""

from hashlib import blake2b
from pathlib import Path
from random import Random

import pytest

from mpiric.outputs.digest import file_digest

MIB = 1 << 20


@pytest.mark.parametrize("size_bytes", [0, 1, MIB - 1, MIB, MIB + 1, 20 * MIB + 7])
def test_the_digest_is_that_of_the_bytes_in_order(tmp_path: Path, size_bytes: int) -> None:
    contents = Random(size_bytes).randbytes(size_bytes)
    (tmp_path / "data").write_bytes(contents)
    assert file_digest(tmp_path / "data") == blake2b(contents, digest_size=16).digest()

from pathlib import Path

import pytest

from mpiric.host.installation import native


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose runtime knows marks, and is loaded by nobody."""
    library = tmp_path / "native/openmpi/libmpiric.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\0MPIRIC_MARK_OUT\0")
    monkeypatch.setattr(native, "_ROOT", tmp_path / "native")
    return library

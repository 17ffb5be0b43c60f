"""Native parts that are not as they were built are not used."""

import subprocess
import sys
from pathlib import Path

import pytest

from mpiric.host.installation import native
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily

ROOT = Path(__file__).parents[4]
LIBRARY, STAND_IN = "mpich/libmpiric.so", "translate/openmpi-mpich/libmpi.so.40"
REPAIR, FORTRAN = "translate/repair-mpich/libmpiric_repair.so", "translate/fortran-mpich/libmpifort.so.12"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of small files, whose digests are known."""
    for name in (LIBRARY, STAND_IN, REPAIR, FORTRAN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    subprocess.run([sys.executable, ROOT / "cmake/manifest.py", tmp_path, "Clang 22", "portable"], check=True)
    monkeypatch.setattr(native, "_ROOT", tmp_path)
    return tmp_path


def usable() -> tuple[bool, ...]:
    try:
        runtime = bool(native.native_part("libmpiric.so", AbiFamily.MPICH))
    except NotFoundError:
        runtime = False
    return (
        runtime,
        bool(native.native_stand_in(AbiFamily.OPENMPI, AbiFamily.MPICH, "libmpi.so.40")),
        bool(native.native_repairs()),
        bool(native.native_fortran(AbiFamily.MPICH, "libmpifort.so.12")),
    )


def test_parts_as_they_were_built_are_used(parts):
    assert usable() == (True,) * 4


@pytest.mark.parametrize("which", [LIBRARY, STAND_IN, REPAIR, FORTRAN])
def test_an_altered_part_is_not_used_and_all_others_are(which, parts):
    assert all(usable())
    (parts / which).write_text(f"{which} and more")
    assert usable() == tuple(name != which for name in (LIBRARY, STAND_IN, REPAIR, FORTRAN))


def test_the_sentence_names_the_altered_file(parts):
    (parts / LIBRARY).write_bytes(b"")
    with pytest.raises(NotFoundError, match=rf"{parts / LIBRARY} is not as it was built"):
        native.native_part("libmpiric.so", AbiFamily.MPICH)


def test_without_a_manifest_nothing_is_held_against_a_part(parts):
    (parts / "manifest.json").unlink()
    (parts / LIBRARY).write_text("another")
    assert all(usable())

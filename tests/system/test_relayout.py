"""HDF5 files whose objects are arranged otherwise hold the same."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.preloaded import NATIVE

from mpiric.outputs.equivalence import AcceptedDifferences
from mpiric.outputs.files import learn_files

HERE = Path(__file__).parent
REARRANGED = AcceptedDifferences(rearranged=True)

pytestmark = pytest.mark.requires("debian-mpich")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("relayout")


def offsets(printed):
    """Return the start of each data set of the program."""
    return [int(line.split()[-1]) for line in printed.splitlines() if line.startswith("set")]


@pytest.mark.requires("h5pcc.mpich", "h5dump")
def test_hdf5_files_are_arranged_as_asked_and_hold_the_same(run_mpiric, place, tmp_path):
    program = place / "hdf5_file"
    subprocess.run(["h5pcc.mpich", "-shlib", "-o", program, HERE / "hdf5_file.c"], check=True, cwd=place)
    launch = ("mpiexec.mpich", "-n", "2", program)
    plain = subprocess.run([*launch, "plain.h5"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert plain.stdout.endswith("alignment 1, metadata together 0, the program's own 1\n")
    command = (
        "run",
        "--no-recipe",
        "--set",
        "hdf5=align=256KiB,metadata=collective",
        "--",
        *launch,
        "aligned.h5",
    )
    done = run_mpiric(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("alignment 262144, metadata together 1, the program's own 1\n")
    assert [offset % (256 << 10) for offset in offsets(done.stdout)] == [0, 0, 0]
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.h5").write_bytes((tmp_path / "plain.h5").read_bytes())
    expected = learn_files([tmp_path / "first", tmp_path / "second"])
    aligned = {"x.h5": tmp_path / "aligned.h5"}
    assert expected.compare(aligned, REARRANGED) is None
    assert "differs" in str(expected.compare(aligned))
    other = bytearray((tmp_path / "plain.h5").read_bytes())
    other[offsets(plain.stdout)[1] + 8000] ^= 1
    (tmp_path / "other.h5").write_bytes(other)
    assert "other contents" in str(expected.compare({"x.h5": tmp_path / "other.h5"}, REARRANGED))


@pytest.mark.requires("mpi:mpich")
@pytest.mark.parametrize(
    ("settings", "is_visible"), [({}, False), ({"MPIRIC_HDF5_ALIGNMENT_KIB": "64"}, True)]
)
def test_a_program_without_hdf5_finds_its_name_only_where_it_is_acted_on(settings, is_visible, environment):
    looks = "import ctypes; print(hasattr(ctypes.CDLL(None), 'H5Fcreate'))"
    variables = {**environment, **settings, "LD_PRELOAD": str(NATIVE / "mpich/libmpiric.so")}
    done = subprocess.run([sys.executable, "-c", looks], env=variables, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (str(is_visible), "")

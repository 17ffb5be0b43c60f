"""HDF5 files that are arranged otherwise: which values are tried where."""

import pytest
from tests.support.answers import values
from tests.support.situations import MPIS, situation
from tests.support.written_files import lustre, output, writing

from mpiric import knobs
from mpiric.model.storage import FileLayout, Stripes

MPICH = next(library for library in MPIS if library.label == "mpich-5.0.2")
OWN = tuple(output(f"out/restart.{rank}", 1) for rank in range(256))


def case(*files):
    return writing(situation(MPICH, ranks=256, nodes=4), *files)


HDF5 = knobs.all_knobs()["hdf5"]


def with_hdf5(*files, system=None):
    job = situation(MPICH, ranks=8, nodes=4, libraries=("/x/h5py.libs/libhdf5-1a2b.so.310",))
    return writing(job, *files, system=system)


def test_objects_of_hdf5_files_are_aligned_to_stripes():
    wide = lustre(default_layout=FileLayout((Stripes(4, 4 << 20),)))
    assert values("hdf5", with_hdf5(system=wide))[0] == "align=4MiB,metadata=collective"
    assert HDF5.settings("align=4MiB,metadata=collective", with_hdf5()).environment == {
        "MPIRIC_HDF5_ALIGNMENT_KIB": "4096",
        "MPIRIC_HDF5_COLLECTIVE_METADATA": "1",
    }
    assert HDF5.settings("metadata=collective", with_hdf5()).environment == {
        "MPIRIC_HDF5_COLLECTIVE_METADATA": "1"
    }


@pytest.mark.parametrize(
    ("relayout_case", "reason"),
    [(case(), "no HDF5"), (with_hdf5(*OWN), "through MPI")],
)
def test_only_files_of_parallel_hdf5_are_arranged(relayout_case, reason):
    assert reason in HDF5.consider(relayout_case).reason


@pytest.mark.parametrize(
    "value", ["", "align=", "align=1", "align=1GiB", "metadata=independent", "align=1MiB,"]
)
def test_no_other_arrangement_is_accepted(value):
    assert not HDF5.domain.accepts(value)

"""A library of the standard ABI is tried before it serves a program of the standard."""

import pytest
from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.host import Completed
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.workflows.launch import interchange
from mpiric.workflows.launch.interchange import conforming

LIBRARY = MpiLibrary(
    "mpich",
    "9",
    (AbiFamily.MPICH, AbiFamily.STANDARD),
    "/opt/mpich",
    "/opt/mpich/lib/libmpi.so.12",
    "libmpi.so.12",
    "",
    "hydra",
    "path",
    standard_library="/opt/mpich/lib/libmpi_abi.so.1",
)


class ProbedHost(ReplayHost):
    """Host that answers the probe; MPI_SEEK_SET is wrong unless the expected repair is preloaded."""

    def __init__(self, repaired_by: str) -> None:
        super().__init__(Recording(environ={}))
        self.repaired_by = repaired_by

    def run_cached(self, argv, files, *, environment=None, timeout_s=20, identity=()):
        """The lines of the probe."""
        word = "right" if environment["LD_PRELOAD"] == self.repaired_by else "wrong"
        return Completed(0, f"MPI_SEEK_SET {word}\nMPI_SUM right\n", "")


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    monkeypatch.setattr(interchange, "native_part", lambda *_: "/probe-abi")
    monkeypatch.setattr(interchange, "native_repairs", lambda: ("/first.so", "/second.so"))
    monkeypatch.setattr(interchange, "repair_path", lambda path, _: path)


def test_one_whose_constants_are_right_is_left_as_it_is():
    assert conforming(LIBRARY, ProbedHost("")) == LIBRARY


def test_the_repair_is_taken_under_which_all_constants_are_right():
    result = conforming(LIBRARY, ProbedHost("/second.so"))
    assert (result.repair, result.wrong_constants, result.refused) == ("/second.so", ("MPI_SEEK_SET",), "")


def test_without_a_repair_the_constants_are_named():
    result = conforming(LIBRARY, ProbedHost("/none.so"))
    assert result.refused == "its libmpi_abi has other values than the standard for MPI_SEEK_SET"
    assert not result.repair


def test_one_that_starts_no_program_of_the_standard_has_its_other_abi_alone(monkeypatch):
    monkeypatch.setattr(ProbedHost, "run_cached", lambda *_, **__: Completed(127, "", "cannot open it"))
    result = conforming(LIBRARY, ProbedHost(""))
    assert (result.abi_families, result.standard_library) == ((AbiFamily.MPICH,), "")
    assert result.refused == "mpich-9: its libmpi_abi.so.1 starts no program"

"""Libraries of another ABI family made ready to serve a program by a stand-in."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.installation import native, stand_ins
from mpiric.model.errors import NotFoundError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.workflows.launch.interchange import ready_to_serve

OPENMPI = MpiLibrary(
    "openmpi",
    "5.0.11",
    (AbiFamily.OPENMPI,),
    "/opt/ompi",
    "/opt/ompi/lib/libmpi.so.40",
    "libmpi.so.40",
    "/opt/ompi/bin/mpirun",
    "openmpi5",
    "path",
    library_path=("/opt/ompi/lib",),
    sonames=("libmpi.so.40",),
)
MPICH = replace(OPENMPI, implementation="mpich", abi_families=(AbiFamily.MPICH,), soname="libmpi.so.12")
LEDGER = (
    "MPI_Send\tgenerated\nMPI_Comm_c2f\town\nMPI_Isendrecv\tgenerated\nMPI_Comm_spawn\trefused\tchildren\n"
)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch):
    """`serve(names, calls)`: Open MPI as it will serve an MPICH program that asks for the names."""
    built = tmp_path / "native/translate"
    (built / "mpich-openmpi").mkdir(parents=True)
    (built / "mpich-openmpi/libmpi.so.12").write_bytes(b"a stand-in")
    (built / "fortran-mpich").mkdir()
    (built / "fortran-mpich/libmpifort.so.12").write_bytes(b"Fortran")
    (built / "ledger.tsv").write_text(LEDGER)
    monkeypatch.setattr(native, "_ROOT", tmp_path / "native")
    stand_ins.functions.cache_clear()
    host = ReplayHost(
        Recording(
            environ={"XDG_DATA_HOME": str(tmp_path)},
            symbols={OPENMPI.library: ("MPI_Send", "MPI_Comm_spawn")},
            imports={
                "/home/u/app": ("mpi_send_",),
                "/home/u/modern": ("mpi_init_", "mpi_send_f08ts_"),
                "/opt/intel/lib/libmpifort.so.12": ("MPI_Send", "MPIR_F_MPI_BOTTOM"),
            },
        )
    )

    def serve(*names: str, calls: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> MpiLibrary:
        return ready_to_serve([OPENMPI], frozenset(names), MPICH, host, frozenset(calls), files)[0]

    yield serve
    stand_ins.functions.cache_clear()


def test_the_stand_in_has_the_name_that_the_program_wants(serve):
    served = serve("libmpi.so.12")
    assert Path(served.stand_in).read_bytes() == b"a stand-in"
    assert Path(served.stand_in).name == "libmpi.so.12"


def test_its_directory_has_every_name_of_the_family_and_names_its_library(serve):
    directory = Path(serve("libmpi.so.12").library_path[0])
    assert {path.name for path in directory.iterdir()} == {
        "libmpi.so",
        "libmpi.so.12",
        "libmpich.so.12",
        "library",
        "fortran",
    }
    assert (directory / "library").read_text() == f"{OPENMPI.library}\n"


def test_the_librarys_own_directory_stays_behind_it(serve):
    assert serve("libmpi.so.12").library_path[1:] == OPENMPI.library_path


def test_a_stand_in_of_an_older_installation_is_renewed(serve):
    placed = Path(serve("libmpi.so.12").stand_in)
    placed.unlink()
    placed.write_bytes(b"older")
    assert Path(serve("libmpi.so.12").stand_in).read_bytes() == b"a stand-in"


def test_a_fortran_program_keeps_its_own_library_where_the_stand_in_has_all_it_takes(serve):
    served = serve("libmpi.so.12", "libmpifort.so.12", files=("/opt/mpich/lib/libmpifort.so.12.5.0",))
    assert (Path(served.stand_in).name, served.fortran) == ("libmpi.so.12", "")


def test_without_one_it_gets_ours(serve):
    served = serve("libmpi.so.12", "libmpifort.so.12", files=("/home/u/app",))
    assert Path(served.fortran).read_bytes() == b"Fortran"
    assert str(Path(served.fortran).parent) in served.library_path


def test_one_that_takes_more_from_its_c_library_is_replaced(serve):
    files = ("/home/u/app", "/opt/intel/lib/libmpifort.so.12")
    assert serve("libmpi.so.12", "libmpifort.so.12", files=files).fortran


def test_compiled_modules_cannot_be_replaced_and_the_file_is_named(serve):
    refused = serve("libmpi.so.12", "libmpifort.so.12", files=("/home/u/modern",)).refused
    assert refused == "libmpifort.so.12 with mpi_f08 compiled into it (mpi_send_f08ts_) is not found"


@pytest.mark.parametrize(
    ("part", "why"),
    [("libmpicxx.so.12", "the C++ bindings of MPI-2"), ("libmpi_ilp64.so.4", "INTEGERs of 64 bits")],
)
def test_other_abis_are_refused_by_name(serve, part, why):
    served = serve("libmpi.so.12", part)
    assert (served.stand_in, served.refused) == ("", f"{part} is not translated: {why}")


def test_a_program_started_by_a_script_is_assumed_to_be_of_the_launchers_family(serve):
    assert Path(serve().stand_in).name == "libmpi.so.12"


def test_functions_that_neither_library_has_are_named(serve):
    calls = ("mpi_send", "mpi_comm_c2f", "mpi_isendrecv", "mpi_comm_spawn", "mpi_unweighted")
    assert serve("libmpi.so.12", calls=calls).lacks == ("mpi_comm_spawn", "mpi_isendrecv")


def test_a_pair_without_a_stand_in_cannot_be_written(serve, tmp_path):
    with pytest.raises(NotFoundError, match="no stand-in exists for the openmpi ABI over mpich"):
        stand_ins.write_stand_in(tmp_path / "any", AbiFamily.OPENMPI, MPICH)


def test_a_stand_in_among_preloaded_libraries_is_known_where_the_path_of_its_library_is_lost(tmp_path):
    stand_in, other = tmp_path / "libmpi.so.12", tmp_path / "other/libmpi.so.12"
    other.parent.mkdir()
    other.write_bytes(b"an MPI library")
    stand_in.write_bytes(b"\0mpiric_stand_in_for\0")
    assert stand_ins.preloaded_stand_in(f"{other}:/lib/libjemalloc.so.2:{stand_in}") == (str(stand_in), "")
    (tmp_path / "library").write_text("/opt/ompi/lib/libmpi.so.40\n")
    assert stand_ins.preloaded_stand_in(str(stand_in)) == (str(stand_in), "/opt/ompi/lib/libmpi.so.40")

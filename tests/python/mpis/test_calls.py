"""Use of MPI, derived from a program's files."""

import pytest
from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.host import Elf
from mpiric.mpis import mpi_calls, mpi_names, nailed_to

APP, SOLVER, MPI = "/home/u/app", "/opt/lib/libsolver.so.1", "/usr/lib/libmpi.so.40.30.4"


def host(
    app: Elf, imported: tuple[str, ...] = (), solver: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> ReplayHost:
    return ReplayHost(
        Recording(
            elfs={
                APP: app,
                SOLVER: Elf("libsolver.so.1", ("libmpi.so.40",), (), ""),
                MPI: Elf("libmpi.so.40", ("libopen-pal.so.40",), (), ""),
            },
            imports={APP: imported, SOLVER: solver, MPI: ("MPI_Never",)},
            is_file=dict.fromkeys(files, True),
        )
    )


LINKED = Elf("", ("libmpi.so.40", "libc.so.6"), (), "/lib64/ld-linux-x86-64.so.2")
FILES = (APP, SOLVER, MPI)


@pytest.mark.parametrize(
    "symbol",
    [
        *("MPI_Allreduce", "PMPI_Allreduce", "MPI_Allreduce_c"),
        *("mpi_allreduce_", "mpi_allreduce__", "MPI_ALLREDUCE", "pmpi_allreduce_"),
        *("mpi_allreduce_f08_", "mpi_allreduce_f08ts_"),
    ],
)
def test_a_function_is_the_same_in_every_language(symbol):
    assert mpi_calls(host(LINKED, (symbol,)), FILES) == {"mpi_allreduce"}


def test_libraries_of_the_program_count():
    assert mpi_calls(host(LINKED, ("MPI_Init",), ("MPI_Bcast",)), FILES) == {"mpi_init", "mpi_bcast"}


def test_a_script_says_nothing():
    assert mpi_calls(ReplayHost(Recording()), ("/home/u/run.sh",)) == frozenset()


def test_names_are_those_the_program_asks_for():
    app = Elf("", ("libmpi_mpifh.so.40", "libm.so.6"), (), "")
    assert mpi_names(host(app), FILES) == {"libmpi_mpifh.so.40", "libmpi.so.40"}


def test_an_rpath_with_an_mpi_in_it_nails_the_program():
    app = Elf("", ("libmpi.so.40",), ("$ORIGIN/lib",), "", ("$ORIGIN/lib",))
    inside = "/home/u/lib/libmpi.so.40"
    assert nailed_to(host(app, files=(inside,)), FILES) == inside


def test_a_runpath_does_not():
    app = Elf("", ("libmpi.so.40",), ("$ORIGIN/lib",), "")
    assert nailed_to(host(app, files=("/home/u/lib/libmpi.so.40",)), FILES) == ""

"""Discovery on a recorded Debian with its two MPIs and three wheels."""

import pytest
from tests.support.replay_host import ReplayHost

from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis import abi_of_program, find_mpis, mpi_needed_by, mpi_of_launcher, mpi_of_library

HOME = "/home/user/.local/share/mpiric/mpi"
BASE = "/usr/lib/x86_64-linux-gnu"


@pytest.fixture
def libraries(debian12: ReplayHost) -> dict[str, MpiLibrary]:
    return {mpi.label: mpi for mpi in find_mpis(debian12)}


def test_five_libraries_are_found_once_and_those_on_path_first(debian12):
    assert [mpi.label for mpi in find_mpis(debian12)] == [
        "openmpi-4.1.4",
        "mpich-4.0.2",
        "intelmpi-2021.19.0",
        "mpich-5.0.2",
        "openmpi-5.0.11",
    ]


@pytest.mark.parametrize(
    ("label", "launcher", "dialect"),
    [
        ("openmpi-4.1.4", "/usr/bin/mpirun.openmpi", "openmpi4"),
        ("mpich-4.0.2", "/usr/bin/mpiexec.mpich", "hydra"),
        ("intelmpi-2021.19.0", f"{HOME}/intelmpi-2021.19/bin/mpiexec.hydra", "intelmpi"),
        ("mpich-5.0.2", f"{HOME}/mpich-5.0.2/bin/mpiexec.hydra", "hydra"),
        ("openmpi-5.0.11", f"{HOME}/openmpi-5.0.11/bin/mpirun", "openmpi5"),
    ],
)
def test_each_has_its_own_launcher_and_dialect(libraries, label: str, launcher: str, dialect: str):
    assert (libraries[label].launcher, libraries[label].dialect) == (launcher, dialect)


def test_families_follow_the_names_of_the_libraries(libraries):
    assert libraries["mpich-4.0.2"].abi_families == (AbiFamily.MPICH,)
    assert libraries["mpich-5.0.2"].abi_families == (AbiFamily.MPICH, AbiFamily.STANDARD)
    assert libraries["openmpi-5.0.11"].abi_families == (AbiFamily.OPENMPI,)


def test_the_wheel_of_mpich_has_no_fortran_library_and_debians_has(libraries):
    assert libraries["mpich-5.0.2"].sonames == ("libmpi.so.12", "libmpi_abi.so.1")
    assert "libmpichfort.so.12" in libraries["mpich-4.0.2"].sonames
    assert "libmpifort.so.12" in libraries["intelmpi-2021.19.0"].sonames


def test_debians_mpis_share_a_directory_and_not_their_libraries(libraries):
    assert not any(name.endswith(".so.40") for name in libraries["mpich-4.0.2"].sonames)


def test_debians_compilers_are_not_taken_for_one_another(libraries):
    assert libraries["openmpi-4.1.4"].compilers["c"] == "/usr/bin/mpicc.openmpi"
    assert libraries["mpich-4.0.2"].compilers["c"] == "/usr/bin/mpicc.mpich"


def test_a_library_the_linker_finds_needs_no_library_path(libraries):
    assert libraries["mpich-4.0.2"].library_path == ()
    assert libraries["mpich-5.0.2"].library_path == (f"{HOME}/mpich-5.0.2/lib",)


def test_intel_mpi_gets_its_root_and_its_programs_on_path(libraries):
    intel = libraries["intelmpi-2021.19.0"]
    assert intel.environment["I_MPI_ROOT"] == f"{HOME}/intelmpi-2021.19"
    assert intel.search_path == (f"{HOME}/intelmpi-2021.19/bin",)


def test_a_moved_open_mpi_gets_its_prefix(libraries):
    assert libraries["openmpi-5.0.11"].environment == {"OPAL_PREFIX": f"{HOME}/openmpi-5.0.11"}
    assert libraries["openmpi-4.1.4"].environment == {}


def test_transports_are_those_compiled_in(libraries):
    assert libraries["mpich-4.0.2"].transports == ("ucx", "shm")
    assert {"tcp", "ucx", "ofi", "vader"} <= set(libraries["openmpi-4.1.4"].transports)
    assert "sm" in libraries["openmpi-5.0.11"].transports


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("mpirun", "openmpi-4.1.4"),
        ("mpiexec", "openmpi-4.1.4"),
        ("mpiexec.mpich", "mpich-4.0.2"),
        ("mpiexec.hydra", "mpich-4.0.2"),
        (f"{HOME}/openmpi-5.0.11/bin/mpirun", "openmpi-5.0.11"),
    ],
)
def test_the_launcher_on_a_command_line_names_its_mpi(debian12, word: str, label: str):
    mpi = mpi_of_launcher(debian12, word)
    assert mpi is not None
    assert mpi.label == label


def test_the_launcher_stays_the_one_that_was_named(debian12):
    mpi = mpi_of_launcher(debian12, "mpirun")
    assert mpi is not None
    assert mpi.launcher == "/usr/bin/mpirun"


@pytest.mark.parametrize("word", ["srun", "nothing-of-the-kind", "/home/user/nothing"])
def test_a_word_that_is_not_a_launcher_has_no_mpi(debian12, word: str):
    assert mpi_of_launcher(debian12, word) is None


def test_a_loaded_library_names_its_mpi(debian12):
    mpi = mpi_of_library(debian12, f"{BASE}/libmpi.so.40")
    assert mpi is not None
    assert mpi.label == "openmpi-4.1.4"


def test_a_loaded_standard_library_belongs_to_its_mpi(debian12):
    mpi = mpi_of_library(debian12, f"{HOME}/mpich-5.0.2/lib/libmpi_abi.so.1")
    assert mpi is not None
    assert mpi.label == "mpich-5.0.2"


def test_other_loaded_libraries_have_no_mpi(debian12):
    assert mpi_of_library(debian12, "/lib/x86_64-linux-gnu/libc.so.6") is None


def test_a_program_linked_through_its_own_library_has_a_family(debian12):
    assert abi_of_program(debian12, "/usr/bin/lmp") is AbiFamily.OPENMPI
    assert mpi_needed_by(debian12, "/usr/bin/lmp").endswith("libmpi.so.40")


def test_a_program_whose_library_is_not_found_still_has_a_family(debian12):
    program = f"{HOME}/intelmpi-2021.19/bin/IMB-MPI1"
    assert abi_of_program(debian12, program) is AbiFamily.MPICH


def test_interpreters_and_scripts_have_no_family(debian12):
    assert abi_of_program(debian12, "/usr/bin/python3") is None
    assert abi_of_program(debian12, "/home/user/run.sh") is None

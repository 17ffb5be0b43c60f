import pytest
from tests.support import mpi_banners

from mpiric.launchers import dialects
from mpiric.model.mpi_library import AbiFamily
from mpiric.mpis import family_of_soname, implementations
from mpiric.mpis._describe import recognise

LIBRARIES = {
    "openmpi": [(mpi_banners.OPENMPI_4, "4.1.4"), (mpi_banners.OPENMPI_5, "5.0.11")],
    "mpich": [(mpi_banners.MPICH_4, "4.0.2"), (mpi_banners.MPICH_5, "5.0.2")],
    "intelmpi": [(mpi_banners.INTEL_2021_19, "2021.19.0")],
    "mvapich": [(mpi_banners.MVAPICH_2, "2.3.7"), (mpi_banners.MVAPICH_3, "3.0")],
    "craympich": [(mpi_banners.CRAY_8, "8.1.25.17")],
}
TEXTS = [(name, text, version) for name, cases in LIBRARIES.items() for text, version in cases]


def test_every_implementation_has_a_banner():
    assert set(LIBRARIES) == set(implementations())


@pytest.mark.parametrize(("name", "text", "version"), TEXTS)
def test_a_librarys_own_words_name_it(name: str, text: str, version: str):
    assert recognise(text) == (name, version)


@pytest.mark.parametrize(("name", "text", "version"), TEXTS)
def test_no_other_implementation_claims_it(name: str, text: str, version: str):
    claims = [key for key, module in implementations().items() if module.recognise(text)]
    assert claims == [name]


def test_intel_numbered_its_releases_by_updates_before():
    assert recognise("Intel(R) MPI Library 2019 Update 9 for Linux* OS\n") == ("intelmpi", "2019.9")


@pytest.mark.parametrize("text", ["", "LAM 7.1", "an MPICH Version: 4 in the middle"])
def test_other_words_name_nothing(text: str):
    assert recognise(text) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (mpi_banners.MPIRUN_OPENMPI_4, {"openmpi"}),
        (mpi_banners.MPIRUN_OPENMPI_5, {"openmpi"}),
        (mpi_banners.MPIEXEC_HYDRA, {"mpich", "mvapich"}),  # the same hydra
        (mpi_banners.MPIEXEC_INTEL, {"intelmpi"}),
        ("slurm 22.05.8", set()),
    ],
)
def test_a_launchers_banner_says_whose_programs_it_can_start(text: str, names: set[str]):
    assert {
        key for key, implementation in implementations().items() if implementation.recognise_launcher(text)
    } == names


@pytest.mark.parametrize(
    ("version", "dialect"), [("4.1.4", "openmpi4"), ("5.0.11", "openmpi5"), ("6.0", "openmpi5")]
)
def test_open_mpi_changed_its_launcher_with_version_5(version: str, dialect: str):
    assert implementations()["openmpi"].dialect(version) == dialect


def test_transports_of_mpich_are_its_netmods_and_shared_memory():
    assert implementations()["mpich"].transports(mpi_banners.MPICH_5, "") == ("ucx", "ofi", "shm")


def test_transports_of_open_mpi_are_its_components():
    text = "mca:btl:tcp:version:2\nmca:pml:ucx:version:2\nmca:pml:ob1:version:2\nmca:coll:han:version:2\n"
    assert implementations()["openmpi"].transports("", text) == ("tcp", "ucx")


def test_mvapich_2_speaks_verbs_itself():
    assert implementations()["mvapich"].transports(mpi_banners.MVAPICH_2, "") == ("verbs", "shm")
    assert implementations()["mvapich"].transports(mpi_banners.MVAPICH_3, "") == ("ofi", "shm")


@pytest.mark.parametrize(
    ("soname", "family"),
    [
        ("libmpi.so.12", AbiFamily.MPICH),
        ("libmpich.so.12", AbiFamily.MPICH),
        ("libmpifort.so.12", AbiFamily.MPICH),
        ("libmpi_gnu_91.so.12", AbiFamily.MPICH),
        ("libmpi_cray.so.12", AbiFamily.MPICH),
        ("libmpi.so.40", AbiFamily.OPENMPI),
        ("libmpi_mpifh.so.40", AbiFamily.OPENMPI),
        ("libmpi_usempif08.so.40", AbiFamily.OPENMPI),
        ("libmpi_abi.so.1", AbiFamily.STANDARD),
        ("libmpi_gtl_cuda.so.0", None),
        ("libmpi.so.20", None),
        ("libmpifr.so.1", None),
        ("libc.so.6", None),
    ],
)
def test_the_name_of_a_library_says_its_family(soname: str, family: AbiFamily | None):
    assert family_of_soname(soname) is family


@pytest.mark.parametrize("name", implementations())
def test_every_dialect_an_implementation_names_is_a_launcher(name: str):
    implementation = implementations()[name]
    own_dialects = {implementation.dialect(version) for _, version in LIBRARIES[name]}
    assert own_dialects | set(implementation.system_launchers.values()) <= set(dialects())


@pytest.mark.parametrize("name", implementations())
def test_every_implementations_library_names_have_an_abi_family(name: str):
    patterns = implementations()[name].libraries
    assert all(family_of_soname(pattern.replace("*", "gnu_91")) for pattern in patterns)

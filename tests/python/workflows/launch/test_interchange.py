"""Libraries made ready to serve a program under the names it asks for."""

from pathlib import Path

import pytest
from tests.support.replay_host import Recording, ReplayHost

from mpiric.host.host import Elf
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.workflows.launch.interchange import ready_to_serve


def library(label: str, *sonames: str, path: tuple[str, ...] = ()) -> MpiLibrary:
    name, _, version = label.partition("-")
    place = f"/opt/{label}/lib"
    return MpiLibrary(
        name,
        version,
        (AbiFamily.MPICH,),
        f"/opt/{label}",
        f"{place}/{sonames[0]}",
        sonames[0],
        f"/opt/{label}/bin/mpiexec",
        "hydra",
        "path",
        library_path=path,
        sonames=sonames,
    )


DEBIAN = library("mpich-4.0.2", "libmpich.so.12", "libmpichfort.so.12")
WHEEL = library("mpich-5.0.2", "libmpi.so.12", path=("/opt/mpich-5.0.2/lib",))


@pytest.fixture
def served(tmp_path: Path):
    """`served(library, now, *names)`: the library as it will serve a program that asks for the names."""

    def serve(which: MpiLibrary, now: MpiLibrary, *names: str) -> MpiLibrary:
        host = ReplayHost(
            Recording(
                environ={"XDG_DATA_HOME": str(tmp_path)},
                elfs={WHEEL.library: Elf("libmpi.so.12", (), ("$ORIGIN/mpich",), "")},
                directories={"/opt/mpich-5.0.2/lib/mpich": ("libfabric.so.1",)},
            )
        )
        return ready_to_serve([which], frozenset(names), now, host)[0]

    return serve


def links(mpi: MpiLibrary) -> dict[str, str]:
    return {path.name: str(path.readlink()) for path in Path(mpi.library_path[0]).iterdir()}


def test_debians_library_answers_to_the_usual_name(served):
    assert links(served(DEBIAN, WHEEL, "libmpi.so.12")) == {"libmpi.so.12": DEBIAN.library}


def test_the_usual_library_answers_to_debians_name(served):
    assert links(served(WHEEL, DEBIAN, "libmpich.so.12")) == {"libmpich.so.12": WHEEL.library}


def test_its_own_libraries_are_found_although_it_is_seen_through_a_link(served):
    assert served(WHEEL, DEBIAN, "libmpich.so.12").library_path[1:] == (
        "/opt/mpich-5.0.2/lib/mpich",
        "/opt/mpich-5.0.2/lib",
    )


def test_fortran_goes_with_it_where_it_is(served):
    created = links(served(DEBIAN, WHEEL, "libmpi.so.12", "libmpifort.so.12"))
    assert created["libmpifort.so.12"] == "/opt/mpich-4.0.2/lib/libmpichfort.so.12"


def test_a_library_without_fortran_is_left_as_it_is(served):
    assert served(WHEEL, DEBIAN, "libmpich.so.12", "libmpichfort.so.12") == WHEEL


def test_a_library_that_has_the_name_and_a_directory_needs_no_link(served):
    assert served(WHEEL, WHEEL, "libmpi.so.12") == WHEEL


def test_a_library_that_the_linker_finds_gets_a_link_before_the_programs_runpath(served):
    assert links(served(DEBIAN, DEBIAN, "libmpich.so.12")) == {"libmpich.so.12": DEBIAN.library}


def test_for_a_script_it_is_the_name_of_the_current_library(served):
    assert links(served(DEBIAN, WHEEL)) == {"libmpi.so.12": DEBIAN.library}

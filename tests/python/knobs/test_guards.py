"""Forbidden settings: preloads that cannot work, launchers without their library, files from outside."""

from dataclasses import replace

import pytest
from tests.support.answers import skipped, values
from tests.support.situations import BY_LABEL, MPIS, machine, mpi, situation

from mpiric.knobs import all_knobs, switched, to_try
from mpiric.launchers import dialects
from mpiric.model.errors import MismatchError
from mpiric.model.job import Container

CONTAINER = Container("apptainer", ("apptainer", "exec", "a.sif"), "a.sif")
OTHERS = tuple(library for library in MPIS if library.label != "mpich-5.0.2")


def spell(knob: str, value: str, case):
    return all_knobs()[knob].settings(value, case)


def static(case):
    ranks = tuple(replace(rank, libraries=()) for rank in case.observation.ranks)
    return replace(case, observation=replace(case.observation, ranks=ranks))


@pytest.mark.parametrize("knob", ["allocator", "malloc", "huge-pages"])
def test_a_static_or_setuid_program_keeps_its_allocator(knob: str) -> None:
    assert "C library" in skipped(knob, static(situation()))


def test_a_static_program_gets_no_preload_even_on_request() -> None:
    assert spell("allocator", "jemalloc", static(situation())) is None


def test_an_allocator_is_preloaded_from_where_the_machine_has_it() -> None:
    assert spell("allocator", "jemalloc", situation()).preload == ("/usr/lib/libjemalloc.so.2",)


def test_an_allocator_that_is_not_installed_is_not_preloaded() -> None:
    assert spell("allocator", "mimalloc", situation()) is None


def test_libraries_of_this_machine_stay_out_of_containers() -> None:
    case = situation(libraries=("/usr/lib/libblas.so.3",), others=OTHERS)
    case = replace(case, job=replace(case.job, container=CONTAINER))
    assert not {"allocator", "blas"} & set(to_try(case))


def test_in_a_container_the_launchers_mpi_can_take_the_place_of_the_images() -> None:
    case = situation(others=OTHERS)
    case = replace(case, job=replace(case.job, container=CONTAINER))
    assert values("mpi", case) == ("host",)
    spelled = spell("mpi", "host", case)
    assert (spelled.bound, spelled.launcher_words) == ((case.mpi.prefix,), ())
    refused = replace(case.mpi, refused="the image has glibc 2.28")
    older = replace(case, read_host_mpi=lambda: refused)
    assert "mpi" not in to_try(older)
    with pytest.raises(
        MismatchError, match=r"cannot take the place of the image's: the image has glibc 2.28"
    ):
        spell("mpi", "host", older)


def test_for_an_images_program_of_another_abi_it_comes_with_its_stand_in() -> None:
    case = situation(others=OTHERS)
    ready = replace(case.mpi, stand_in="/data/stand-ins/any/libmpi.so.40")
    case = replace(case, job=replace(case.job, container=CONTAINER), read_host_mpi=lambda: ready)
    spelled = spell("mpi", "host", case)
    assert spelled.preload == (ready.stand_in,)
    assert spelled.bound == (case.mpi.prefix, "/data/stand-ins/any")
    assert spelled.environment["MPIRIC_TRANSLATE"] == case.mpi.library


def test_without_a_container_there_is_no_image_to_bind_a_library_into() -> None:
    with pytest.raises(MismatchError, match="needs a command that starts"):
        spell("mpi", "host", situation())


def test_another_mpi_comes_with_launcher_dialect_library_and_environment() -> None:
    spelled = spell("mpi", "intelmpi-2021.19", situation(others=OTHERS))
    assert spelled.launcher_words == ("/opt/intelmpi-2021.19/bin/mpiexec",)
    assert spelled.dialect == "intelmpi"
    assert spelled.library_path == ("/opt/intelmpi-2021.19/lib",)
    assert spelled.environment == {"MPI_HOME": "/opt/intelmpi-2021.19"}


def test_a_library_of_another_abi_family_is_refused_with_the_reason() -> None:
    with pytest.raises(MismatchError, match="not of the program's ABI family"):
        spell("mpi", "openmpi-5.0.11", situation(others=OTHERS))


def test_a_library_without_the_name_the_program_asks_for_is_refused_with_that_name() -> None:
    debian = replace(mpi("mpich", "4.1.0"), soname="libmpich.so.12")
    with pytest.raises(MismatchError, match=r"asks for libmpi\.so\.12"):
        spell("mpi", "mpich-4.1.0", situation(others=(debian,)))


def asking_for(*names: str, nailed: str = "", other_libraries=OTHERS):
    case = situation(others=other_libraries)
    return replace(case, observation=replace(case.observation, mpi_names=frozenset(names), mpi_nailed=nailed))


def test_a_standard_abi_with_wrong_values_is_refused() -> None:
    intel = next(other for other in OTHERS if other.implementation == "intelmpi")
    both = replace(intel, sonames=("libmpi.so.12", "libmpi_abi.so.1"), refused="other values")
    with pytest.raises(MismatchError, match="other values"):
        spell("mpi", intel.label, asking_for("libmpi_abi.so.1", other_libraries=(both,)))


def test_a_program_bound_by_an_rpath_gets_another_library_by_preloading_it() -> None:
    spelled = spell("mpi", "intelmpi-2021.19", asking_for("libmpi.so.12", nailed="/own/libmpi.so.12"))
    intel = next(other for other in OTHERS if other.implementation == "intelmpi")
    assert spelled.preload == (intel.library,)


FORTRAN = ("libmpi.so.12", "libmpifort.so.12")


INTEL = next(other for other in OTHERS if other.implementation == "intelmpi")


def bound_fortran(**changes: tuple[str, ...]):
    return asking_for(*FORTRAN, nailed="/own/libmpi.so.12", other_libraries=(replace(INTEL, **changes),))


def test_one_in_fortran_gets_the_other_librarys_fortran_too() -> None:
    spelled = spell("mpi", "intelmpi-2021.19", bound_fortran(sonames=FORTRAN))
    assert spelled.preload == ("/opt/intelmpi-2021.19/lib/libmpifort.so.12", INTEL.library)


def test_a_link_under_the_name_does_not_lead_past_an_rpath() -> None:
    with pytest.raises(MismatchError, match=r"RPATH binds it to /own/libmpi\.so\.12"):
        spell("mpi", "intelmpi-2021.19", bound_fortran(sonames=FORTRAN, renamed=FORTRAN[1:]))


def test_variables_of_the_former_library_are_taken_away() -> None:
    case = situation(others=OTHERS)
    user = replace(case, job=replace(case.job, environment={**case.job.environment, "OPAL_PREFIX": "/old"}))
    former = replace(user, mpi=replace(user.mpi, environment={"OPAL_PREFIX": "/old"}))
    assert "OPAL_PREFIX" in spell("mpi", "intelmpi-2021.19", former).unset


def test_a_library_without_launcher_is_refused() -> None:
    bare = replace(mpi("mpich", "4.1.0"), launcher="")
    with pytest.raises(MismatchError, match="no launcher of its own"):
        spell("mpi", "mpich-4.1.0", situation(others=(bare,)))


def test_a_library_that_is_not_installed_is_refused_naming_those_that_are() -> None:
    with pytest.raises(MismatchError) as refused:
        spell("mpi", "mpich-9.9", situation(others=OTHERS))
    assert "intelmpi-2021.19" in refused.value.hint


def test_other_knobs_are_spelled_for_the_library_that_is_switched_to() -> None:
    target = switched(situation(others=OTHERS), {"mpi": "intelmpi-2021.19", "waiting": "yield"})
    assert target.mpi.label == "intelmpi-2021.19"
    assert "mpich-5.0.2" in {library.label for library in target.other_libraries}


def test_without_a_switch_the_situation_stays() -> None:
    case = situation(others=OTHERS)
    assert switched(case, {"waiting": "yield"}) is case


def test_under_srun_the_library_is_not_switched() -> None:
    case = situation(others=OTHERS)
    assert "mpi" not in to_try(replace(case, job=replace(case.job, launcher=dialects()["srun"].traits)))


def test_reserved_pages_are_offered_only_when_they_suffice_for_every_rank() -> None:
    few, many = (situation(on=machine(huge_free=pages)) for pages in (32, 64))
    assert "reserved" not in values("huge-pages", few)
    assert "reserved" in values("huge-pages", many)


@pytest.mark.parametrize(("policy", "offered"), [("madvise", True), ("always", False), ("never", False)])
def test_transparent_pages_are_offered_where_asking_makes_the_difference(policy: str, offered: bool) -> None:
    assert ("huge-pages" in to_try(situation(on=machine(thp=policy)))) is offered


def test_threads_of_ranks_that_share_cpus_are_not_placed() -> None:
    case = situation(on=machine(1, 8), libraries=("/usr/lib/libgomp.so.1",))
    assert "omp-places" not in to_try(case)


def test_mpi_io_is_left_alone_until_it_is_seen() -> None:
    case = situation(BY_LABEL["openmpi-4.1.4"], libraries=("/usr/lib/openmpi/mca_io_romio321.so",))
    assert "mpi-io-library" not in to_try(situation(BY_LABEL["openmpi-4.1.4"]))
    assert "mpi-io-library" in to_try(case)


def test_facts_that_take_long_to_find_are_read_only_where_they_matter() -> None:
    def unasked() -> str:
        raise AssertionError("nobody needs it")

    plain = replace(situation(), read_host_names=unasked, read_host_mpi=unasked, try_layout=unasked)
    assert "binding" in to_try(plain)
    with pytest.raises(AssertionError):
        to_try(replace(plain, nodes=2))

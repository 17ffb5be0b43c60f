"""Which library serves which ABI family, and how."""

from dataclasses import replace

import pytest

from mpiric.abi import Serving, can_serve, route
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import (
    PAIRS,
    How,
    Serves,
    before_rpath,
    c_library_of,
    can_translate,
    serves,
    untranslated,
    why_unserved,
)

MPICH, OPENMPI, STANDARD = AbiFamily.MPICH, AbiFamily.OPENMPI, AbiFamily.STANDARD


def library(
    *families: AbiFamily, soname: str = "libmpi.so.12", wrong: tuple[str, ...] = (), repair: str = ""
) -> MpiLibrary:
    return MpiLibrary(
        "any",
        "1",
        families,
        "/opt",
        f"/opt/lib/{soname}",
        soname,
        "/opt/bin/mpiexec",
        "hydra",
        "path",
        wrong_constants=wrong,
        repair=repair,
    )


def service_by_family(mpi: MpiLibrary, pairs=PAIRS) -> dict[str, str]:
    return {service.family.value: service.how.value for service in serves(mpi, pairs)}


def test_a_library_serves_its_own_abi_natively_and_others_translated():
    assert service_by_family(library(OPENMPI, soname="libmpi.so.40")) == {
        "mpich": "translated",
        "openmpi": "native",
        "standard": "translated",
    }


def test_the_standard_abi_is_native_where_the_library_has_it():
    assert service_by_family(library(MPICH, STANDARD)) == {
        "mpich": "native",
        "openmpi": "translated",
        "standard": "native",
    }


def test_a_standard_abi_with_wrong_values_is_repaired_else_translated_else_refused():
    wrong = ("MPI_SEEK_SET",)
    assert service_by_family(library(MPICH, STANDARD, wrong=wrong, repair="/r.so"))["standard"] == "repaired"
    assert service_by_family(library(MPICH, STANDARD, wrong=wrong))["standard"] == "translated"
    refused = serves(library(STANDARD, wrong=wrong), PAIRS)[2]
    assert (refused.how, refused.why) == (
        How.NO,
        "its libmpi_abi has other values than the standard for MPI_SEEK_SET",
    )


def test_a_library_with_wrong_values_serves_no_program_as_it_is():
    served = can_serve(STANDARD, "libmpi_abi.so.1", [library(STANDARD, wrong=("MPI_SEEK_SET",))])
    assert served == ()


def test_a_repair_goes_before_the_librarys_own_file():
    fixed = replace(library(MPICH, STANDARD, repair="/r.so"), standard_library="/opt/lib/libmpi_abi.so.1")
    assert fixed.preloaded == ("/r.so", "/opt/lib/libmpi_abi.so.1")
    assert can_serve(STANDARD, "libmpi_abi.so.1", [fixed])[0].how is Serving.REPAIRED


def test_debians_name_of_mpich_is_another_name():
    assert service_by_family(library(MPICH, soname="libmpich.so.12"))["mpich"] == "name"


def test_without_stand_ins_the_reason_is_reported():
    served = serves(library(MPICH), ())
    assert served[1] == Serves(OPENMPI, How.NO, "the stand-in is not part of this installation")


@pytest.mark.parametrize("program", list(AbiFamily))
def test_nothing_is_translated_to_itself(program):
    assert not can_translate(program, library(program))


@pytest.mark.parametrize(
    ("names", "soname"),
    [
        ({"libmpich.so.12"}, "libmpich.so.12"),
        ({"libmpichfort.so.12"}, "libmpich.so.12"),
        ({"libmpifort.so.12"}, "libmpi.so.12"),
        (set(), "libmpi.so.12"),
    ],
)
def test_the_c_library_has_the_name_that_the_program_or_its_fortran_asks_for(names, soname):
    assert c_library_of(MPICH, names) == soname


def test_past_an_rpath_to_fortran_alone_the_c_library_comes_along():
    mpi = replace(library(MPICH), sonames=("libmpi.so.12", "libmpifort.so.12"))
    assert before_rpath(mpi, {"libmpifort.so.12"}) == ("/opt/lib/libmpifort.so.12", "/opt/lib/libmpi.so.12")
    assert before_rpath(mpi, {"libmpicxx.so.12"}) == ()


def test_cxx_parts_are_named_and_fortran_is_served():
    names = {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_cxx.so.40"}
    assert untranslated(names, OPENMPI) == ("libmpi_cxx.so.40",)


@pytest.mark.parametrize(
    "part", ["libmpi_usempif08.so.40", "libmpi_mpifh.so.40", "libmpi_cxx.so.40", "libopen-pal.so.40"]
)
def test_a_library_without_a_part_that_the_program_needs_does_not_serve_it(part):
    core_only = replace(
        library(OPENMPI, soname="libmpi.so.40"), sonames=("libmpi.so.40", "libopen-pal.so.80")
    )
    names = {"libmpi.so.40", part}
    assert part in why_unserved(core_only, names)
    assert can_serve(OPENMPI, "libmpi.so.40", [core_only], names) == ()
    assert route(OPENMPI, "libmpi.so.40", core_only, (), names).how is How.NO
    complete = replace(core_only, sonames=(*core_only.sonames, part))
    assert why_unserved(complete, names) == ""
    assert can_serve(OPENMPI, "libmpi.so.40", [complete], names)[0].how is Serving.AS_IT_IS


def test_a_part_under_debians_name_is_served():
    debian = replace(
        library(MPICH, soname="libmpich.so.12"), sonames=("libmpich.so.12", "libmpichfort.so.12")
    )
    assert why_unserved(debian, {"libmpi.so.12", "libmpifort.so.12"}) == ""


def test_an_internal_library_of_open_mpi_does_not_prevent_translation():
    assert untranslated({"libmpi.so.40", "libopen-pal.so.40"}, OPENMPI) == ()

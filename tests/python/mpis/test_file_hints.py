"""Ways to pass hints of MPI-IO to a library: its variables, or the runtime."""

from dataclasses import replace

import pytest
from tests.support.answers import skipped, values
from tests.support.situations import BY_LABEL, situation
from tests.support.written_files import lustre, writing

from mpiric import knobs
from mpiric.mpis import spell

HINTS = "cb_nodes=4,romio_cb_write=enable"


def case(label, **more):
    return writing(situation(BY_LABEL[label], ranks=8, nodes=4, **more))


def named(start):
    return next(label for label in BY_LABEL if label.startswith(start))


def test_romio_reads_a_file_that_needs_no_mpiric():
    spelling = spell("mpi-io", HINTS, case("mpich-5.0.2"))
    ((path, text),) = spelling.files.items()
    assert text == "cb_nodes 4\nromio_cb_write enable\n"
    assert (spelling.environment, spelling.preload) == ({"ROMIO_HINTS": path}, ())


def test_hints_by_pattern_need_the_runtime():
    spelling = spell("mpi-io", "*.h5:cb_nodes=4;*:cb_nodes=1", case("mpich-5.0.2"))
    assert spelling.environment == {"MPIRIC_FILE_HINTS": "*.h5 cb_nodes=4;* cb_nodes=1"}
    assert spelling.preload == ("/opt/mpiric/libmpiric.so",)


def test_a_hint_file_of_the_users_own_stays():
    mine = case("mpich-5.0.2", inherited={"ROMIO_HINTS": "/home/u/hints"})
    assert "MPIRIC_FILE_HINTS" in spell("mpi-io", HINTS, mine).environment


def test_ompio_takes_parameters_where_it_has_one_for_each_hint():
    hints_case = case(named("openmpi-5"))
    assert spell("mpi-io", "cb_nodes=4", hints_case).environment == {"OMPI_MCA_io_ompio_num_aggregators": "4"}
    assert "MPIRIC_FILE_HINTS" in spell("mpi-io", "collective_buffering=false", hints_case).environment


def test_pnetcdf_passes_hints_on_under_any_library():
    hints_case = case(named("openmpi-5"), libraries=("/usr/lib/libpnetcdf.so.4",))
    assert spell("mpi-io", "collective_buffering=false,cb_nodes=2", hints_case).environment == {
        "PNETCDF_HINTS": "collective_buffering=false;cb_nodes=2"
    }


def test_cray_takes_patterns():
    spelling = spell("mpi-io", "*.h5:cb_nodes=4;*:romio_cb_write=enable", case(named("craympich")))
    assert spelling.environment == {"MPICH_MPIIO_HINTS": "*.h5:cb_nodes=4,*:romio_cb_write=enable"}


def test_without_variables_and_without_the_runtime_nothing_can_be_set():
    hints_case = case("mpich-5.0.2")
    bare = replace(hints_case, hint_directory="", tuner=replace(hints_case.tuner, library=""))
    assert spell("mpi-io", HINTS, bare) is None


@pytest.mark.parametrize("label", [label for label in BY_LABEL if spell("mpi-io", HINTS, case(label))])
def test_hints_are_tried_under_every_library_that_takes_them(label):
    assert not skipped("mpi-io", case(label))


def test_collective_hints_are_tried_only_where_files_are_accessed_together():
    hints_case = situation(BY_LABEL["mpich-5.0.2"], ranks=8, nodes=4)
    together = values("mpi-io", case("mpich-5.0.2"))
    alone = values("mpi-io", writing(hints_case, collective_file_calls=0.0))
    assert any("cb_nodes" in value for value in together)
    assert alone
    assert not any("cb_" in value.replace("romio_ds", "") for value in alone)


def intel(*calls, inherited=None, drivers=("lustre",)):
    """A program that calls these, under Intel MPI on Lustre, which has these drivers of its own."""
    library = replace(BY_LABEL[named("intelmpi")], file_drivers=("ufs", "nfs", *drivers))
    hints_case = writing(situation(library, ranks=8, inherited=inherited or {}), system=lustre())
    return replace(hints_case, observation=replace(hints_case.observation, mpi_calls=frozenset(calls)))


RESIZES = ("mpi_file_open", "mpi_file_set_size")
ALONE = "romio_cb_read=disable,romio_cb_write=disable"


@pytest.mark.parametrize(
    ("hints_case", "is_tried"),
    [
        (intel(*RESIZES, drivers=()), False),
        (intel(drivers=()), False),
        (intel("mpi_file_open", drivers=()), True),
        (intel(*RESIZES), True),
        (intel(*RESIZES, inherited={"I_MPI_FILESYSTEM": "0"}), False),
    ],
    ids=["resizes", "unknown", "does not resize", "own driver", "own driver switched off"],
)
def test_independent_writes_are_tried_only_if_no_rank_truncates_data_of_others(hints_case, is_tried):
    assert (ALONE in values("mpi-io", hints_case)) is is_tried
    assert knobs.why_hints_not_set("cb_nodes=2", hints_case) == ""


def test_the_driver_for_nfs_cuts_files_under_mpich_too():
    library = replace(BY_LABEL["mpich-5.0.2"], file_drivers=("ufs", "nfs"))
    hints_case = writing(situation(library, ranks=8), system=replace(lustre(), kind="nfs"))
    assert "on every rank under the driver for NFS" in knobs.why_hints_not_set(ALONE, hints_case)
    assert ALONE in values("mpi-io", case("mpich-5.0.2"))


def test_intel_mpi_gets_the_setting_for_its_driver():
    assert spell("mpi-io-driver", "native", intel()).environment == {"I_MPI_FILESYSTEM": "1"}
    assert spell("mpi-io", ALONE, intel()).environment.keys() == {"ROMIO_HINTS", "I_MPI_FILESYSTEM"}
    assert spell("mpi-io", HINTS, intel()).environment.keys() == {"ROMIO_HINTS"}


@pytest.mark.parametrize(
    ("hints_case", "reason"),
    [
        (intel(), ""),
        (intel(drivers=()), "the library has no other driver for the files of the job"),
        (
            intel(inherited={"I_MPI_FILESYSTEM": "0"}),
            "the library has no other driver for the files of the job",
        ),
        (case("mpich-5.0.2"), "the library chooses its driver by the file system"),
    ],
    ids=["idle driver", "no driver", "told already", "MPICH"],
)
def test_a_driver_is_tried_where_the_library_has_one_and_does_not_use_it(hints_case, reason):
    assert skipped("mpi-io-driver", hints_case) == reason


def test_aggregators_are_spread_over_the_nodes():
    tried = values("mpi-io", case("mpich-5.0.2"))
    assert any("cb_config_list=*:2,cb_nodes=8" in value for value in tried)

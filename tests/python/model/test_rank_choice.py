"""Which of the processes below a launcher are the ranks."""

import pytest

from mpiric.model.rank_choice import ObservedProcess, choose_ranks, is_mpi_library, rank_of


def observed_process(
    pid: int, parent: int, program: str, rank: int | None = None, *, mpi: bool = False
) -> ObservedProcess:
    return ObservedProcess(pid, parent, f"/usr/bin/{program}", rank, maps_mpi=mpi)


def chosen(*processes: ObservedProcess) -> list[int]:
    return [process.pid for process in choose_ranks(list(processes))]


def test_ranks_of_a_launcher_are_its_numbered_children():
    assert chosen(
        observed_process(1, 0, "mpirun"),
        observed_process(2, 1, "app", 0, mpi=True),
        observed_process(3, 1, "app", 1, mpi=True),
    ) == [
        2,
        3,
    ]


def test_a_shell_around_the_program_is_not_a_rank():
    assert chosen(
        observed_process(1, 0, "mpirun"),
        observed_process(2, 1, "bash", 0),
        observed_process(3, 2, "app", 0, mpi=True),
    ) == [3]


def test_a_helper_started_by_a_rank_is_not_a_rank():
    assert chosen(
        observed_process(1, 0, "mpirun"),
        observed_process(2, 1, "app", 0, mpi=True),
        observed_process(3, 2, "gzip", 0),
    ) == [2]


def test_a_forked_copy_of_a_rank_is_not_a_rank():
    assert chosen(
        observed_process(2, 1, "python3", 0, mpi=True), observed_process(3, 2, "python3", 0, mpi=True)
    ) == [2]


def test_a_static_program_inside_wrappers_is_the_rank():
    assert chosen(
        observed_process(2, 1, "numactl", 0),
        observed_process(3, 2, "app", 0),
        observed_process(4, 3, "sort", 0),
    ) == [3]


def test_a_script_that_srun_started_and_that_calls_mpirun_is_not_a_rank():
    outer = [observed_process(2, 1, "bash", 0), observed_process(3, 2, "mpirun", 0)]
    assert chosen(
        *outer, observed_process(4, 3, "app", 0, mpi=True), observed_process(5, 3, "app", 1, mpi=True)
    ) == [4, 5]


def test_a_program_without_launcher_is_the_one_that_maps_mpi():
    assert chosen(
        observed_process(2, 1, "bash"), observed_process(3, 2, "app", mpi=True), observed_process(4, 3, "tee")
    ) == [3]


def test_a_launcher_that_has_not_started_anything_has_no_ranks():
    assert chosen(observed_process(2, 1, "mpiexec.hydra"), observed_process(3, 2, "hydra_pmi_proxy")) == []


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"])
def test_a_rank_number_comes_from_the_launchers_variable(name):
    assert rank_of({name.encode(): b"3"}, {}) == 3


def test_a_number_that_the_launcher_itself_has_says_nothing():
    assert rank_of({b"SLURM_PROCID": b"0"}, {"SLURM_PROCID": "0"}) is None


def test_open_mpis_number_goes_before_slurms():
    assert rank_of({b"SLURM_PROCID": b"0", b"OMPI_COMM_WORLD_RANK": b"5"}, {}) == 5


@pytest.mark.parametrize("path", ["/x/libmpi.so.40", "/x/libmpich.so.12.2.0", "/x/libmpi_abi.so.1"])
def test_mpi_libraries_are_known_by_name(path):
    assert is_mpi_library(path)


@pytest.mark.parametrize("path", ["/x/libmpi_mpifh.so", "/x/libopen-rte.so.40", "/x/libmpir.so"])
def test_other_libraries_are_not(path):
    assert not is_mpi_library(path)

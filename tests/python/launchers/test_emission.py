"""The words each launcher gets for a plan."""

import pytest
from tests.support.machines import made_up, placed, recorded

from mpiric.launchers import emit, emit_all
from mpiric.model.errors import MpiricError
from mpiric.model.placement import HardwareThreads, HugePages

LAUNCHERS = {"aprun", "hydra", "intelmpi", "openmpi4", "openmpi5", "pals", "srun"}


def launch_options(plan, launcher: str) -> str:
    return " ".join(emit(plan, launcher).argv)


def test_every_launcher_is_served():
    assert set(emit_all([placed(made_up(4), 2)])) == LAUNCHERS


def test_an_unknown_launcher_is_refused_by_name():
    with pytest.raises(MpiricError) as refused:
        emit(placed(made_up(4), 2), "lamboot")
    assert "hydra" in refused.value.hint


@pytest.mark.parametrize("launcher", ["openmpi4", "openmpi5"])
def test_open_mpi_gets_flags_where_flags_say_it(launcher):
    line = launch_options(placed(recorded("betzy"), 64, threads=2), launcher)
    assert "--map-by ppr:64:node:pe=2 --bind-to core" in line


def test_open_mpi_5_gets_an_ordered_list_for_narrow_ranks():
    assert "--map-by pe-list=0,2:ordered --bind-to core" in launch_options(placed(made_up(4), 2), "openmpi5")


def test_open_mpi_5_gets_a_rankfile_for_wide_ranks_that_skip_cores():
    emission = emit(placed(made_up(8), 2, threads=2, bandwidth_bound=True), "openmpi5")
    assert emission.files["openmpi5.rankfile"] == "rank 0=localhost slot=0,2\nrank 1=localhost slot=4,6\n"


def test_a_rankfile_counts_nodes_of_the_allocation_or_names_them():
    relative = emit(placed(made_up(4), 4, nodes=2), "openmpi4").files["openmpi4.rankfile"]
    assert "rank 2=+n1 slot=0" in relative
    named = emit(placed(made_up(4), 4, nodes=2, hosts=("a", "b")), "openmpi4")
    assert "rank 2=b slot=0" in named.files["openmpi4.rankfile"]
    assert "--host a:2,b:2" in " ".join(named.argv)


def test_open_mpi_4_rankfiles_use_the_kernels_numbers():
    emission = emit(placed(recorded("betzy"), 64, bandwidth_bound=True), "openmpi4")
    assert "--mca rmaps_rank_file_physical 1" in " ".join(emission.argv)
    assert "rank 1=localhost slot=2,130\n" in emission.files["openmpi4.rankfile"]


def test_hydra_maps_wide_ranks_by_their_width():
    plan = placed(made_up(8), 2, threads=4, policy="compact")
    assert "-bind-to core:4 -map-by core:4" in launch_options(plan, "hydra")


def test_hydra_gets_masks_where_its_levels_mean_something_else():
    assert "-bind-to user:0+128,2+130," in launch_options(
        placed(recorded("betzy"), 64, bandwidth_bound=True), "hydra"
    )


def test_intel_mpi_gets_a_mask_for_each_rank():
    plan = placed(made_up(4, 4), 2, threads=2)
    assert emit(plan, "intelmpi").env["I_MPI_PIN_DOMAIN"] == "[0x5,0x50]"
    compact = placed(made_up(4), 2, policy="compact")
    assert emit(compact, "intelmpi").env["I_MPI_PIN_PROCESSOR_LIST"] == "0,1"


def test_srun_gets_masks_and_a_step_wide_enough_for_them():
    line = launch_options(placed(recorded("betzy"), 64, bandwidth_bound=True), "srun")
    assert "--cpus-per-task=4" in line
    assert f"mask_cpu:{hex(1 | 1 << 128)},{hex(1 << 2 | 1 << 130)}," in line
    assert "--mem-bind=local" in line


def test_srun_gets_planes_if_the_last_node_has_fewer_ranks():
    emission = emit(placed(made_up(4, 4), 10, nodes=3), "srun")
    assert {"--distribution=plane=4", "--nodes=3", "--ntasks=10"} <= set(emission.argv)
    assert not any("per-node" in word or "cpus-per-task" in word for word in emission.argv)
    assert "sbatch --exclusive" in emission.note


def test_srun_gives_each_rank_its_gpu():
    assert "--gpu-bind=map_gpu:0,1,2,3" in launch_options(placed(recorded("gpu_node"), 4), "srun")


def test_aprun_gets_depth_where_numa_nodes_are_filled_and_a_list_elsewhere():
    assert "-n 8 -N 8 -d 16 -j 1 -S 1 -ss -cc depth" in launch_options(
        placed(recorded("betzy"), 8, threads=16), "aprun"
    )
    assert "-S 8 -ss -cc 0:2:4:" in launch_options(
        placed(recorded("betzy"), 64, bandwidth_bound=True), "aprun"
    )


def test_aprun_asks_for_huge_pages_in_its_own_form():
    def memory(pages: HugePages) -> str:
        return launch_options(placed(made_up(4), 2, memory_mib=1200, huge_pages=pages), "aprun")

    assert "-m 1200 " in memory(HugePages.UNSAID)
    assert "-m 1200h " in memory(HugePages.PREFERRED)
    assert "-m 1200hs " in memory(HugePages.REQUIRED)


def test_aprun_confines_no_memory_of_ranks_wider_than_a_numa_node():
    assert "-ss" in launch_options(placed(made_up(4, 4), 2, threads=4), "aprun")
    assert "-ss" not in launch_options(placed(made_up(4, 4), 1, threads=8), "aprun")


def test_aprun_says_where_it_names_less_than_the_plan():
    emission = emit(placed(recorded("betzy"), 8), "aprun")
    assert not emission.exact
    assert emission.note


def test_pals_gets_a_list_for_each_rank():
    line = launch_options(placed(made_up(4, smt=2), 2, threads=2, policy="compact"), "pals")
    assert "--ppn 2 --cpu-bind list:0-1,4-5:2-3,6-7" in line


@pytest.mark.parametrize("launcher", sorted(LAUNCHERS))
def test_threads_bring_openmps_variables(launcher):
    env = emit(placed(made_up(8, smt=2), 2, threads=4), launcher).env
    assert (env["OMP_NUM_THREADS"], env["OMP_PLACES"], env["OMP_PROC_BIND"]) == ("4", "cores", "close")


def test_a_single_rank_on_a_node_gets_explicit_places():
    env = emit(placed(made_up(8), 1, threads=2, policy="compact"), "hydra").env
    assert env["OMP_PLACES"] == "{0},{1}"


def test_single_hardware_threads_are_places_of_their_own():
    plan = placed(made_up(4, smt=2), 2, threads=4, hardware_threads=HardwareThreads.ALL)
    assert emit(plan, "srun").env["OMP_PLACES"] == "threads"


def test_no_core_is_counted_by_a_launcher_that_does_not_see_all_of_them():
    plan = placed(made_up(8), 2, policy="compact", usable=(2, 3, 4, 5))
    assert "-bind-to user:2,3" in launch_options(plan, "hydra")

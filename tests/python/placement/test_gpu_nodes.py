"""GPUs and network adapters of ranks, compared with the maps that computing centres publish."""

import os
import subprocess

import pytest
from tests.support.gpu_nodes import NAMES, gpu_node
from tests.support.machines import made_up, placed

from mpiric import launchers
from mpiric.model.machine import parse_pu_list, pu_list
from mpiric.model.placement import Plan

# OLCF, Frontier User Guide: hardware threads of each L3 region | GPU, for one rank a GPU (`-n8 -c7`).
_FRONTIER = {"1-7": 4, "9-15": 5, "17-23": 2, "25-31": 3, "33-39": 6, "41-47": 7, "49-55": 0, "57-63": 1}
# LUMI documentation, "Distribution and binding options".
_LUMI_MAP = "49,57,17,25,1,9,33,41"
_LUMI_MASKS = "fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000"
# `nvidia-smi topo -m`: adapter at the same PCIe switch as the GPU (PIX or PXB) and CPU affinity.
_DGX_H100 = [f"mlx5_{number}:1" for number in (0, 3, 4, 5, 6, 9, 10, 11)]
_DGX_A100 = [f"mlx5_{number}:1" for number in (0, 1, 2, 3, 6, 7, 8, 9)]
_DGX_A100_NUMA = [3, 3, 1, 1, 7, 7, 5, 5]


def node(name: str, ranks: int, **request) -> Plan:
    return placed(gpu_node(name), ranks, **request)


def cores(plan: Plan) -> list[str]:
    """Return the numbers of the cores of each rank by the kernel: their first hardware threads."""
    return [pu_list(core.pus[0] for core in seat.cores) for seat in plan.seats]


def rank_output(plan: Plan, launcher: str, rank: int, program: str, **environment: str) -> str:
    """Run the script of the plan as a rank of this launcher does, around a shell command."""
    variable = launchers.dialects()[launcher].rank_variable
    emission = launchers.emit(plan, launcher)
    shown = ["sh", "-c", emission.files["devices.sh"], "devices.sh", "sh", "-c", program]
    environment = {"PATH": os.environ["PATH"], variable: str(rank), **environment}
    return subprocess.run(shown, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_frontier_ranks_are_in_the_region_of_their_gpu():
    plan = node("frontier", 8, threads=7)
    assert dict(zip(cores(plan), (seat.gpu for seat in plan.seats), strict=True)) == _FRONTIER


def test_lumi_ranks_have_the_cores_of_the_documentation():
    assert ",".join(cores(node("lumi_g", 8))) == _LUMI_MAP
    masks = [sum(1 << pu for pu in parse_pu_list(text)) for text in cores(node("lumi_g", 8, threads=7))]
    assert ",".join(f"{mask:x}" for mask in masks) == _LUMI_MASKS


@pytest.mark.parametrize("name", ["frontier", "lumi_g"])
def test_the_adapter_of_a_module_serves_both_of_its_gpus(name):
    env = launchers.emit(node(name, 16, nodes=2), "srun").env
    assert env["MPICH_OFI_NIC_POLICY"] == "USER"
    assert env["MPICH_OFI_NIC_MAPPING"] == "0:0,1;1:2,3;2:4,5;3:6,7"


def test_perlmutter_numbers_gpus_and_adapters_in_opposite_orders():
    plan = node("perlmutter", 8, nodes=2, threads=16)
    assert [(seat.gpu, seat.numa) for seat in plan.seats] == [(0, 3), (1, 2), (2, 1), (3, 0)]
    assert launchers.emit(plan, "srun").env["MPICH_OFI_NIC_MAPPING"] == "0:3;1:2;2:1;3:0"


def test_aurora_ranks_get_tiles_of_the_gpus_of_their_socket():
    plan = node("aurora", 12, threads=8)
    assert [plan.gpus[seat.gpu].number for seat in plan.seats] == [f"{i // 2}.{i % 2}" for i in range(12)]
    sockets = [{core.package for core in seat.cores} for seat in plan.seats]
    assert sockets == [{0}] * 6 + [{1}] * 6


def test_aurora_uses_all_adapters_of_both_sockets():
    mapping = launchers.emit(node("aurora", 24, nodes=2), "pals").env["MPICH_OFI_NIC_MAPPING"]
    assert mapping == "0:0,1;1:2;2:3,4;3:5;4:6,7;5:8;6:9,10;7:11"


def test_tiles_are_chosen_by_a_script_or_by_intel_mpi():
    plan = node("aurora", 12)
    assert "map_gpu" not in " ".join(launchers.emit(plan, "srun").argv)
    assert rank_output(plan, "pals", 3, "echo $ZE_AFFINITY_MASK") == "1.1"
    assert rank_output(plan, "pals", 15, "echo $ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE"
    env = launchers.emit(plan, "intelmpi").env
    assert env["I_MPI_OFFLOAD_CELL"] == "tile"
    assert env["I_MPI_OFFLOAD_CELL_LIST"] == "0,1,2,3,4,5,6,7,8,9,10,11"


@pytest.mark.parametrize(("name", "adapters"), [("dgx_a100", _DGX_A100), ("dgx_h100", _DGX_H100)])
def test_each_gpu_of_a_dgx_uses_the_adapter_at_its_switch(name, adapters):
    plan = node(name, 16, nodes=2)
    assert [seat.gpu for seat in plan.seats] == list(range(8))
    assert [rank_output(plan, "openmpi5", rank, "echo $UCX_NET_DEVICES") for rank in range(8, 16)] == adapters


def test_ranks_of_a_dgx_a100_are_on_the_numa_node_of_their_gpu():
    assert [seat.numa for seat in node("dgx_a100", 8).seats] == _DGX_A100_NUMA


def test_a_lone_rank_gets_all_adapters_at_the_switch_of_its_gpu():
    assert node("dgx_a100", 2, nodes=2).seats[0].adapters == ("mlx5_0:1", "mlx5_1:1")


@pytest.mark.parametrize("name", NAMES)
def test_each_rank_has_a_gpu_of_its_own_and_no_adapter_idles(name):
    ranks = len(node(name, 1).gpus)
    plan = node(name, 2 * ranks, nodes=2)
    assert len({seat.gpu for seat in plan.seats}) == ranks
    assert len({name for seat in plan.seats for name in seat.adapters}) == {"aurora": 8, "dgx_a100": 8}.get(
        name, 8 if name == "dgx_h100" else 4
    )


def test_the_script_takes_the_gpu_from_the_list_of_the_scheduler():
    plan = node("dgx_h100", 8)
    show = "echo $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"
    assert rank_output(plan, "openmpi5", 2, show) == "2 PCI_BUS_ID"
    listed = ",".join(f"GPU-{number}" for number in range(8))
    assert rank_output(plan, "openmpi5", 2, show, CUDA_VISIBLE_DEVICES=listed) == "GPU-2 PCI_BUS_ID"


def test_slurm_binds_gpus_and_the_script_only_the_adapters():
    emission = launchers.emit(node("dgx_h100", 16, nodes=2), "srun")
    assert "--gpu-bind=map_gpu:0,1,2,3,4,5,6,7" in emission.argv
    assert "CUDA_VISIBLE_DEVICES" not in emission.files["devices.sh"]


def test_one_node_needs_no_network_adapter():
    assert not launchers.emit(node("frontier", 8), "srun").env.keys() & {"MPICH_OFI_NIC_MAPPING"}
    assert "UCX_NET_DEVICES" not in launchers.emit(node("dgx_h100", 8), "openmpi5").files["devices.sh"]


def test_nodes_without_devices_start_no_script():
    assert "devices.sh" not in launchers.emit(placed(made_up(4, 4), 4), "hydra").files

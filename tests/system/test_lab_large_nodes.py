"""Job scripts on nodes that Slurm takes for larger ones: cores, sockets and GPUs of each rank."""

import os
import stat
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import Plan
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan
from tests.support.slurm_lab import NEEDS

pytestmark = [pytest.mark.requires(*NEEDS)]
MPIRIC = str(Path(sys.executable).parent / "mpiric")
BETZY_GEOMETRY = "Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=2000"
GPUS = 4


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Two simulated nodes with the CPUs of Betzy and four GPUs."""
    place = tmp_path_factory.mktemp("big")
    state = place / "state"
    cluster.up(state, Plan(("b1", "b2"), shares=(str(place),)))
    for number in range(GPUS):
        os.mknod(place / f"gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # slurmd wants devices
    (state / "slurm").mkdir(exist_ok=True)
    (state / "slurm" / "gres.conf").write_text(f"Name=gpu File={place}/gpu[0-{GPUS - 1}]\n")
    geometry = f"CPUs=256 {BETZY_GEOMETRY} Gres=gpu:{GPUS}"
    plan = SlurmPlan(geometry=geometry, topology="pack:2 core:64 pu:2", more="GresTypes=gpu")
    daemons.up(state, plan)
    yield state
    cluster.down(state)


def printed(big, program, *options):
    """Run a program by a job that `mpiric script` wrote, and return the lines that its ranks print."""
    place = big.parent
    command = [MPIRIC, "script", "-o", str(place / "job.sh"), *options, "--", *program]
    done = cluster.run(big, "b1", command, {**clean_environment(), "HOME": str(place)})
    assert done.returncode == 0, done.stderr
    submitted = ["sbatch", "--wait", f"--output={place}/job.out", f"--chdir={place}", str(place / "job.sh")]
    assert cluster.run(big, "b1", submitted, timeout=120).returncode == 0, (place / "job.out").read_text()
    return (place / "job.out").read_text().splitlines()


def masks(big, *options):
    """Return the CPU masks of the ranks of each node under srun."""
    code = 'test "$SLURM_LOCALID" != 0 || echo "$SLURM_CPU_BIND_LIST" > "$0$SLURM_NODEID"'
    printed(big, ["sh", "-c", code, str(big.parent / "masks")], *options)  # a file each: lines are long
    lines = [(big.parent / f"masks{node}").read_text() for node in range(2)]
    return [[int(word, 16) for word in line.split(",")] for line in lines]


@pytest.mark.parametrize(
    ("options", "ranks", "cores"),
    [
        (["--nodes", "2", "--threads", "16"], 8, 16),
        (["--nodes", "2", "--threads", "8", "--bandwidth-bound"], 8, 16),
    ],
    ids=["hybrid", "bandwidth-bound"],
)
def test_ranks_of_a_script_have_cores_of_their_own(big, options, ranks, cores):
    for node in masks(big, *options):
        assert [bin(mask).count("1") for mask in node] == [cores] * ranks
        assert bin(sum(node)).count("1") == ranks * cores  # no CPU twice


def test_ranks_of_a_script_use_one_hardware_thread_of_each_core(big):
    second_threads = int("a" * 64, 16)  # numbering of the synthetic topology
    assert all(mask & second_threads == 0 for node in masks(big, "--nodes", "2", "-t", "16") for mask in node)


@pytest.mark.parametrize(
    "options",
    [
        ["--ranks-per-node", "64"],
        ["--ranks-per-node", "6"],
        ["--ranks-per-node", "2"],
        ["--bandwidth-bound"],
        ["--bandwidth-bound", "--threads", "4"],
        ["--ranks-per-node", "4", "--gpus-per-node", str(GPUS)],
    ],
    ids=lambda options: " ".join(options),
)
def test_half_filled_nodes_use_both_sockets(big, options):
    first_socket = (1 << 128) - 1
    for node in masks(big, "--nodes", "2", *options):
        on_first = sum(bool(mask & first_socket) for mask in node)
        on_second = sum(bool(mask >> 128) for mask in node)
        assert on_first == on_second == len(node) // 2


def test_ranks_of_a_script_have_the_gpus_of_the_plan(big):
    program = ["sh", "-c", "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES"]
    lines = printed(big, program, "--nodes", "2", "--ranks-per-node", "8", "--gpus-per-node", str(GPUS))
    gpus = {int(rank): int(gpu) for rank, gpu in (line.split() for line in lines)}
    assert gpus == {rank: rank % 8 // 2 for rank in range(16)}

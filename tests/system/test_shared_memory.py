"""Tests of shared memory between the ranks of a node: all ranks use it or none, and no file is left."""

import subprocess
from pathlib import Path

import pytest
from tests.support.native_programs import native_program

from mpiric.host.facts.local import LocalHost
from mpiric.mpis import find_mpis

# Oversubscribed ranks must not spin; UCX cannot connect to another process namespace.
SETTINGS = {
    "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM": "mpir",
    "MPIR_CVAR_BARRIER_POSIX_INTRA_ALGORITHM": "mpir",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
}
pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture(scope="module")
def program() -> Path:
    return native_program("shared_memory_mpich")


@pytest.fixture
def output_of(mpi_run):
    """Return a function: `output_of(ranks, *program)` is the output of rank 0."""
    mpis = find_mpis(LocalHost())
    mpich = next(mpi for mpi in mpis if (mpi.implementation, mpi.found_by) == ("mpich", "mpiric"))

    def run(ranks: int, *program: object) -> str:
        done = mpi_run(mpich, ranks, *program, env=SETTINGS)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_ranks_of_a_node_share_memory(output_of, program, ranks):
    assert output_of(ranks, program) == "shared\n"


def test_ranks_with_process_numbers_of_their_own_do_not(output_of, program):
    isolated = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*isolated, "true"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("this machine lets nobody make namespaces")
    assert output_of(2, program, ":", "-n", 1, *isolated, program) == "apart\n"


def test_a_limit_of_file_sizes_is_no_signal(output_of, program):
    assert output_of(3, program, "files") == "apart\n"

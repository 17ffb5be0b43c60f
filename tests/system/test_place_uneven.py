"""A placement that differs from host to host, in every launcher's words, as the ranks find it."""

import shlex
import subprocess

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.programs import mpi_environment
from tests.support.slurm_lab import NEEDS, slurm_lab

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import emit_all
from mpiric.machine import read_topology
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile

pytestmark = [
    pytest.mark.requires(*NEEDS, "several-cores"),
    pytest.mark.requires("mpi:mpich", "mpi:openmpi", "mpi:intelmpi", "libpmi2.so.0"),
]
SOURCE = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t own;
  sched_getaffinity(0, sizeof own, &own);
  char host[256];
  gethostname(host, sizeof host);
  char text[400] = "";
  for (int pu = 0, at = 0; pu < 64; ++pu)
    if (CPU_ISSET(pu, &own)) at += snprintf(text + at, sizeof text - at, " %d", pu);
  printf("rank %d %.200s:%s\n", rank, host, text);
  fflush(stdout);
  MPI_Finalize();
}
"""
RANKFILE = "rank 0=n1 slot=1\nrank 1=n2 slot=0\n"
WANTED = {"rank 0 n1: 1", "rank 1 n2: 0"}
LAUNCHERS = {"hydra": "mpich", "intelmpi": "intelmpi", "openmpi5": "openmpi", "srun": "mpich"}
COMPILED_BY = {"intelmpi": "mpich"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("lab")
    with slurm_lab(directory, ("n1", "n2")):
        yield directory


@pytest.fixture(scope="module")
def emissions():
    topology = read_topology(LocalHost().topology_xml(""))
    return emit_all(plan_rankfile(topology, read_rankfile(RANKFILE), Numbers.KERNEL))


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_rank_sits_where_the_rankfile_says(launcher, place, emissions, mpi_prefix):
    mpi, emission = LAUNCHERS[launcher], emissions[launcher]
    program, source = place / f"where-{mpi}", place / "where.c"
    source.write_text(SOURCE)
    compiler = mpi_prefix(COMPILED_BY.get(mpi, mpi)) / "bin/mpicc"
    subprocess.run([compiler, "-o", program, source], check=True, timeout=120)
    for name, text in emission.files.items():
        (place / name).write_text(text)
    command = [str(program) if word == "PROGRAM" else word for word in emission.argv]
    if launcher == "srun":
        command = ["salloc", "--quiet", "--exclusive", "--nodes=2", *command, "--mpi=pmi2"]
        command = [*(word for word in command if word not in ("sh", "ranks.sh")), "sh", "ranks.sh"]
    line = f"cd {shlex.quote(str(place))} && {shlex.join([*command, str(program)])}"
    environment = mpi_environment(mpi, mpi_prefix(mpi), {**clean_environment(), **emission.env})
    done = cluster.run(place / "state", "n1", ["sh", "-c", line], environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert {output for output in done.stdout.splitlines() if output.startswith("rank ")} == WANTED

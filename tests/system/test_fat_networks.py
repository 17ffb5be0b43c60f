"""Fat MPI program on hosts of the virtual cluster, checked by `mpiric verify`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names

pytestmark = pytest.mark.requires(
    "root", "netns", "ip", "tc", "gcc", "debian-mpich", "mpi:mpich", "mpi:intelmpi"
)
HOSTS = host_names("2")
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int n, char **v) {
  char names[2][MPI_MAX_PROCESSOR_NAME] = {"", ""};
  int rank, length;
  MPI_Init(&n, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(names[rank], &length);
  MPI_Bcast(names[1], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 1, MPI_COMM_WORLD);
  if (!rank) {
    FILE *log = fopen(v[1], "a");
    fprintf(log, "%s %s\\n", names[0], names[1]);
    fclose(log);
    puts("done");
  }
  MPI_Finalize();
  return 0;
}
"""


def test_a_file_runs_between_hosts_under_each_mpi_of_its_abi(lab: Path) -> None:
    environment = clean_environment()
    mpiric = [sys.executable, "-m", "mpiric"]
    (lab / "m.c").write_text(PROGRAM)
    built = subprocess.run(
        [*mpiric, "cc", "mpicc.mpich", "-O2", "m.c", "-o", "m"],
        cwd=lab, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    command = [
        "verify",
        "--json",
        "--hosts",
        "n1,n2",
        "--network",
        "fast0",
        "--cpu",
        "none",
        "--timeout",
        "100",
    ]
    done = cluster.run(
        lab,
        "n1",
        [*mpiric, *command, str(lab / "m"), str(lab / "log")],
        environment,
        timeout=600,
        cwd=os.fspath(lab),
    )
    verified = json.loads(done.stdout)
    across = {run["mpi"].split("-")[0]: run for run in verified["runs"] if run["network"] == "tcp fast0"}
    assert {"mpich", "intelmpi"} <= set(across), done.stderr
    assert verified["all_green"], (verified, done.stderr)
    pairs = {frozenset(line.split()) for line in (lab / "log").read_text().splitlines()}
    assert frozenset({"n1", "n2"}) in pairs

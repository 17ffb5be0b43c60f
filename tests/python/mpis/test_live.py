"""The MPIs really installed here."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis import abi_of_program, find_mpis, mpi_of_launcher, symbols


@pytest.mark.requires("mpirun.openmpi")
def test_debians_open_mpi_is_found_by_its_launcher():
    mpi = mpi_of_launcher(LocalHost(), "mpirun.openmpi")
    assert mpi is not None
    assert mpi.implementation == "openmpi"
    assert mpi.abi_families == (AbiFamily.OPENMPI,)


@pytest.mark.requires("mpiexec.mpich")
def test_debians_mpich_is_found_by_its_launcher():
    mpi = mpi_of_launcher(LocalHost(), "mpiexec.mpich")
    assert mpi is not None
    assert (mpi.implementation, mpi.dialect) == ("mpich", "hydra")


@pytest.mark.requires("mpirun.openmpi")
def test_every_library_found_really_exports_mpi_init():
    host = LocalHost()
    libraries = find_mpis(host)
    assert libraries
    for mpi in libraries:
        assert {"MPI_Init", "PMPI_Init", "MPI_Comm_dup"} <= symbols(host, mpi.library)


@pytest.mark.requires("mpirun.openmpi")
def test_a_path_with_links_is_the_same_launcher(tmp_path):
    link = tmp_path / "start"
    link.symlink_to(shutil.which("mpirun.openmpi") or "")
    mpi = mpi_of_launcher(LocalHost(), str(link))
    assert mpi is not None
    assert mpi.launcher == str(link)


HELLO = """#include <mpi.h>
#include <stdio.h>
int main(int c, char **v) {
  int size;
  MPI_Init(&c, &v);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("one of %d\\n", size);
  return MPI_Finalize();
}
"""


@pytest.mark.requires("gcc")
def test_two_ranks_are_one_world_under_each_found_library(
    mpi: MpiLibrary, mpi_run, environment, tmp_path: Path
):
    if "c" not in mpi.compilers or not mpi.launcher:
        pytest.skip(f"{mpi.label} has no compiler wrapper or no launcher")
    (tmp_path / "hello.c").write_text(HELLO)
    program = tmp_path / "hello"
    command = [mpi.compilers["c"], str(tmp_path / "hello.c"), "-o", str(program)]
    built = subprocess.run(command, env={**environment, **mpi.environment}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert abi_of_program(LocalHost(), str(program)) in mpi.abi_families
    done = mpi_run(mpi, 2, program)
    assert done.stdout.split("\n") == ["one of 2", "one of 2", ""], done.stderr
